// What is known of a registration before any shape is compared: the camera was in the air, and saw what it
// saw through air.
#pragma once

#include "lumen/geometry/sim3.h"
#include "lumen/surface/mesh_tools.h"
#include "lumen/surface/registration_hints.h"
#include "lumen/surface/triangle_tree.h"

namespace lumen {

class LumenPrior {
 public:
  // Without a path in the hints the places that the points were seen from stand in. Of both a few dozen are
  // kept. The tree must live as long.
  LumenPrior(const SurfacePoints& surface, const RegistrationHints& hints, const TriangleTree& model);

  // Where it is known where the path begins: whether it does, nearly; and whether a part of the model with
  // these points on it is anywhere near.
  bool KnowsStart() const { return begin_.has_value(); }
  bool Begins(const Sim3& model_from_surface) const;
  bool MayBeginIn(const SurfacePoints& part) const;

  // The share of the path that lies in the air; what is outside by less than a twentieth of the surface's
  // radius counts half. 1 if nothing is known.
  double ShareInside(const Sim3& model_from_surface) const;
  // The share of the surface that is seen through air, up to shortly before it. 1 if nothing is known.
  double ShareInView(const Sim3& model_from_surface) const;
  // 0 where it cannot be, 1 where nothing speaks against it.
  double Weigh(const Sim3& model_from_surface) const;

 private:
  struct Sight {
    Eigen::Vector3d from, to;
  };
  const TriangleTree& model_;
  double radius_;
  std::vector<Eigen::Vector3d> path_;
  std::vector<Sight> sights_;
  std::optional<Eigen::Vector3d> begin_;  // of the path
  Eigen::AlignedBox3d start_;
};

}  // namespace lumen
