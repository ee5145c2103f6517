#include "lumen/scene/trajectory.h"

#include <algorithm>
#include <cmath>

namespace lumen {

double PathLength(const Trajectory& trajectory) {
  double length = 0;
  for (size_t i = 1; i < trajectory.size(); ++i) {
    length +=
        (trajectory[i].world_from_camera.Translation() - trajectory[i - 1].world_from_camera.Translation())
            .norm();
  }
  return length;
}

const TimedPose* FindPose(const Trajectory& trajectory, double time, double max_gap) {
  const auto after = std::lower_bound(trajectory.begin(), trajectory.end(), time,
                                      [](const TimedPose& pose, double t) { return pose.time < t; });
  const TimedPose* nearest = nullptr;
  const auto consider = [&](const TimedPose& pose) {
    const double gap = std::abs(pose.time - time);
    if (gap <= max_gap && (nearest == nullptr || gap < std::abs(nearest->time - time))) nearest = &pose;
  };
  if (after != trajectory.begin()) consider(*(after - 1));
  if (after != trajectory.end()) consider(*after);
  return nearest;
}

}  // namespace lumen
