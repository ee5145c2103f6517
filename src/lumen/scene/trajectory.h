// A camera's path: poses with their times, in order of time.
#pragma once

#include <vector>

#include "lumen/geometry/rigid3.h"

namespace lumen {

struct TimedPose {
  double time = 0;  // seconds
  Rigid3 world_from_camera;
};

using Trajectory = std::vector<TimedPose>;

inline constexpr double kRoundedTime = 1e-4;  // seconds; times in files are rounded

double PathLength(const Trajectory& trajectory);

// The pose nearest to that time, no farther than `max_gap` seconds; null where there is none. In order of
// time.
const TimedPose* FindPose(const Trajectory& trajectory, double time, double max_gap);

}  // namespace lumen
