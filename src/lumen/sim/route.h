// Ways through the air of a hollow shape: shortest paths that shun the wall.
#pragma once

#include <vector>

#include "lumen/geometry/curve.h"
#include "lumen/sim/distance_field.h"

namespace lumen {

struct RouteTask {
  Eigen::Vector3f entry;
  std::vector<Eigen::Vector3f> goals;
  float clearance = 1;  // mm to keep from the wall
};

// One route per goal, none if there is no air at the entry or no way on. A goal that cannot be reached is
// replaced by the reachable place nearest to it. Every point of a route keeps the clearance.
std::vector<ArcCurve> PlanRoutes(const DistanceField& field, const RouteTask& task);

}  // namespace lumen
