#include "lumen/eval/association.h"

#include <cmath>

#include "lumen/base/error.h"

namespace lumen {

namespace {

// A gap of exactly max_gap counts, whatever rounding does to the difference of two times.
constexpr double kTimeRounding = 1e-9;

double Gap(const Trajectory& estimate, const Trajectory& truth, const PosePair& pair) {
  return std::abs(estimate[pair.estimate].time - truth[pair.truth].time);
}

}  // namespace

std::vector<PosePair> AssociateByTime(const Trajectory& estimate, const Trajectory& truth, double max_gap) {
  std::vector<PosePair> pairs;
  if (truth.empty()) return pairs;
  size_t nearest = 0;
  for (size_t i = 0; i < estimate.size(); ++i) {
    while (nearest + 1 < truth.size() &&
           Gap(estimate, truth, {i, nearest + 1}) < Gap(estimate, truth, {i, nearest}))
      ++nearest;
    const PosePair pair{i, nearest};
    if (!(Gap(estimate, truth, pair) <= max_gap + kTimeRounding)) continue;
    if (pairs.empty() || pairs.back().truth != nearest) {
      pairs.push_back(pair);
    } else if (Gap(estimate, truth, pair) < Gap(estimate, truth, pairs.back())) {
      pairs.back() = pair;
    }
  }
  return pairs;
}

void RequireDistinctTimes(const Trajectory& trajectory, const std::string& name) {
  for (size_t i = 1; i < trajectory.size(); ++i) {
    if (trajectory[i].time > trajectory[i - 1].time) continue;
    throw InputError(name, StrCat("time ", FormatDouble(trajectory[i].time), " is given twice"));
  }
}

}  // namespace lumen
