// What the tests of registration register: an anatomy, and a surface made of a video through it.
#pragma once

#include "lumen/surface/surface_world_test.h"

namespace lumen {

// An anatomy and what a camera that made no mistakes saw of it, in a map of its own.
struct World {
  explicit World(AnatomyKind kind, const Sim3& map_from_world = {0.04, ExpSO3({1, 0.5, -0.7}), {3, -2, 1}})
      : sequence(SmallSequence(kind, 3, 120)),
        truth(map_from_world.Inverse()),
        model(sequence.Surface()),
        surface(FuseViews(TrueViews(sequence, 6, map_from_world), {}, 2).mesh) {}

  // How far the cameras are from where they are in the model, mm.
  double CameraError(const Sim3& model_from_surface) const {
    double sum = 0;
    for (int i = 0; i < sequence.Size(); ++i) {
      const Eigen::Vector3d camera = sequence.Pose(i).Translation();
      sum += (model_from_surface * (truth.Inverse() * camera) - camera).norm();
    }
    return sum / sequence.Size();
  }

  SimulatedSequence sequence;
  Sim3 truth;  // model_from_surface
  TriangleMesh model, surface;
};

inline const World& Nose() {
  static const World world(AnatomyKind::kNasal);
  return world;
}

inline const World& Airway() {
  static const World world(AnatomyKind::kBronchus);
  return world;
}

}  // namespace lumen
