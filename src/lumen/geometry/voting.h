// One-dimensional truncated least squares, solved exactly: the value most measurements agree on, whatever the
// others say.
#pragma once

#include <vector>

namespace lumen {

// The value that minimises Σ min((x − values_i)² / bounds_i², 1), and who agrees with it.
struct Vote {
  double value = 0;
  std::vector<char> agrees;
};
// Values are finite and bounds positive; a bound may be infinite: such a one agrees with everything.
Vote EstimateByVoting(const std::vector<double>& values, const std::vector<double>& bounds);

}  // namespace lumen
