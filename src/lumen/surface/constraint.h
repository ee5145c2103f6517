// Which motions of a registered surface would show, and which its shape leaves free.
#pragma once

#include <string>
#include <vector>

#include "lumen/geometry/drifting_similarity.h"
#include "lumen/surface/mesh_tools.h"
#include "lumen/surface/triangle_tree.h"

namespace lumen {

// A motion of the surface: what a millimetre of it (at the surface's own radius, for turns and growth) shows.
struct Constraint {
  Eigen::Vector3d translation, rotation;  // of the unit motion, in the model's frame
  double growth = 0;
  double visibility = 0;   // root mean square distance across the wall per mm of motion: 0 is free, 1 is best
  double uncertainty = 0;  // mm, from residual and visibility
  std::string Words() const;  // "sliding along (0.0, 0.1, 1.0)"
  // The motion itself, `mm` of it, of a surface of that radius about `centre`.
  Sim3 Move(double mm, const Eigen::Vector3d& centre, double radius) const;
};

// The seven motions at a solution.
std::vector<Constraint> ComputeConstraints(const SurfacePoints& surface, const TriangleTree& model,
                                           const DriftingSimilarity& model_from_surface, double reach);

}  // namespace lumen
