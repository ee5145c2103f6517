// Local similarity registration of points with normals to a surface, in the spirit of generalised
// most-likely- point methods: each point is matched with the place that explains its position and its normal
// best; the similarity then minimises both, with noise that is small across the wall and large along it. A
// match is believed less the dearer it is and not at all beyond the reach, which shrinks from level to level.
// The similarity's scale may drift over the surface, as a monocular map's does: a point is placed by the
// similarity of the place it was seen from, so that what was seen from one place stays in shape.
#pragma once

#include "lumen/geometry/drifting_similarity.h"
#include "lumen/surface/mesh_tools.h"
#include "lumen/surface/triangle_tree.h"

namespace lumen {

struct IcpOptions {
  double first_reach = 10;  // in the model's unit
  double last_reach = 1;
  double reach_factor = 0.75;  // from one level to the next
  int iterations = 4;          // per level
  int last_iterations = 15;
  double along_wall = 4;    // noise along the wall, in units of the noise across it
  double normal_arm = 0.5;  // a wrong normal counts as a wrong position this far out, in reaches
  double least_scale = 0, most_scale = 1e9;
  double drift = 0;  // expected change of log scale over the surface's radius; 0: the scale is one
};

struct PlacedPoint {
  Eigen::Vector3d point, normal;
};
PlacedPoint PlacePoint(const DriftingSimilarity& model_from_surface, const SurfacePoints& surface, size_t i);

// Neighbouring points err alike: a surface tells about this many things independently.
constexpr double kIndependentPoints = 40;

struct IcpResult {
  DriftingSimilarity model_from_surface;
  double matched = 0;  // share of the weight whose match lies within the last reach
  double cost = 0;     // mean robust cost in squared reaches, unmatched points counting 1
};

IcpResult RefineSimilarity(const SurfacePoints& surface, const TriangleTree& model,
                           const DriftingSimilarity& start, const IcpOptions& options);
// How well a similarity explains the points, at that reach.
IcpResult ScoreSimilarity(const SurfacePoints& surface, const TriangleTree& model,
                          const DriftingSimilarity& model_from_surface, double reach);
// How far from the model a point lies whose match is within that reach, the median by weight; the reach where
// nothing is.
double TypicalDistance(const SurfacePoints& surface, const TriangleTree& model,
                       const DriftingSimilarity& model_from_surface, double reach);

}  // namespace lumen
