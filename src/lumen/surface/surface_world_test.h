// Worlds for the room's tests: simulated anatomy seen from its own path.
#pragma once

#include <cmath>

#include "lumen/geometry/sim3.h"
#include "lumen/scene/frame.h"
#include "lumen/sim/sequence.h"
#include "lumen/surface/fusion.h"
#include "lumen/surface/triangle_tree.h"

namespace lumen {

inline SequenceOptions SmallSequence(AnatomyKind kind, uint64_t seed, int frames) {
  SequenceOptions options{.anatomy = kind, .seed = seed, .width = 80, .height = 64};
  options.path.frames = frames;
  return options;
}

// True depth from every `stride`-th frame, in a map where a millimetre is `map_from_world.Scale()`.
inline ViewList TrueViews(const SimulatedSequence& sequence, int stride, const Sim3& map_from_world = {}) {
  const auto load = [&sequence, stride, map_from_world](int i) {
    DepthView view;
    view.camera = *sequence.View().AsUnified();
    view.world_from_camera = map_from_world.TransformPose(sequence.Pose(i * stride));
    view.depth = ViewDepthOfZ(sequence.RenderDepth(i * stride), view.camera);
    for (size_t k = 0; k < view.depth.Size(); ++k)
      view.depth.Data()[k] *= static_cast<float>(map_from_world.Scale());
    return view;
  };
  return {sequence.Size() / stride, load};
}

// Mean distance of a surface's vertices from a model.
inline double MeanDistance(const TriangleMesh& surface, const TriangleMesh& model) {
  const TriangleTree tree(model);
  double sum = 0;
  for (const Eigen::Vector3f& vertex : surface.vertices) {
    const auto hit = tree.FindNearest(vertex.cast<double>(), 1e6);
    sum += std::sqrt(hit->cost);
  }
  return sum / static_cast<double>(surface.vertices.size());
}

}  // namespace lumen
