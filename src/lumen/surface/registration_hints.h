// What is known of a registration beside the two surfaces.
#pragma once

#include <Eigen/Geometry>
#include <atomic>
#include <optional>
#include <vector>

#include "lumen/surface/mesh_tools.h"

namespace lumen {

struct RegistrationHints {
  std::vector<Eigen::Vector3d> path;  // where the camera was, in the surface's frame: in the air
  bool faces_air = false;             // the model's triangles are known to
  // Points of the surface's wall that are known better than it, weighted by 1 / sigma across the wall. Where
  // there are enough, they have the last word, and which of several places it is is theirs to say; the
  // surface finds the places.
  SurfacePoints measured = {};
  // Where the path begins, in the model's frame: nothing is looked for elsewhere.
  std::optional<Eigen::AlignedBox3d> start = {};
  // Once it is set, nothing is registered any more; soon after, RegisterSurface returns.
  const std::atomic<bool>* stop = nullptr;
};

}  // namespace lumen
