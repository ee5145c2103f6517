// Which estimated pose belongs to which true one: the nearest in time, each used once.
#pragma once

#include <vector>

#include "lumen/scene/trajectory.h"

namespace lumen {

struct PosePair {
  size_t estimate = 0, truth = 0;  // indices into the two trajectories
};

inline constexpr double kMaxTimeGap = 0.005;  // seconds

// Both in order of time. Of several that claim one true pose, the nearest keeps it (the earlier if equal).
// In order of time.
std::vector<PosePair> AssociateByTime(const Trajectory& estimate, const Trajectory& truth,
                                      double max_gap = kMaxTimeGap);

// Throws InputError, with `name` and the time, if a time is given twice: which pose would be graded?
void RequireDistinctTimes(const Trajectory& trajectory, const std::string& name);

}  // namespace lumen
