#include "lumen/eval/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lumen/base/error.h"

namespace lumen {

double Mean(const std::vector<double>& values) {
  LUMEN_CHECK(!values.empty());
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double StandardDeviation(const std::vector<double>& values) {
  const double mean = Mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return values.size() < 2 ? 0 : std::sqrt(sum / static_cast<double>(values.size() - 1));
}

double Quantile(std::vector<double> values, double q) {
  LUMEN_CHECK(!values.empty() && q >= 0 && q <= 1);
  std::sort(values.begin(), values.end());
  const double position = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - static_cast<double>(below)) * (values[above] - values[below]);
}

BoxSummary SummariseBox(const std::vector<double>& values) {
  BoxSummary box;
  box.low_quartile = Quantile(values, 0.25);
  box.median = Quantile(values, 0.5);
  box.high_quartile = Quantile(values, 0.75);
  const double reach = 1.5 * (box.high_quartile - box.low_quartile);
  box.low_whisker = box.low_quartile;
  box.high_whisker = box.high_quartile;
  for (const double value : values) {
    if (value < box.low_quartile - reach || value > box.high_quartile + reach) {
      box.outliers.push_back(value);
      continue;
    }
    box.low_whisker = std::min(box.low_whisker, value);
    box.high_whisker = std::max(box.high_whisker, value);
  }
  return box;
}

std::optional<TTest> PairedTTest(const std::vector<double>& a, const std::vector<double>& b) {
  LUMEN_CHECK(a.size() == b.size());
  if (a.size() < 2) return std::nullopt;
  std::vector<double> differences;
  for (size_t i = 0; i < a.size(); ++i) differences.push_back(a[i] - b[i]);
  const double mean = Mean(differences);
  const double error = StandardDeviation(differences) / std::sqrt(static_cast<double>(a.size()));
  TTest test;
  test.degrees_of_freedom = static_cast<int>(a.size()) - 1;
  if (error == 0) {
    if (mean != 0)
      test = {std::copysign(std::numeric_limits<double>::infinity(), mean), test.degrees_of_freedom, 0};
    return test;
  }
  test.t = mean / error;
  const std::optional<double> p = StudentTwoSided(test.t, test.degrees_of_freedom);
  if (!p) return std::nullopt;
  test.p = *p;
  return test;
}

std::string SignificanceStars(double p) {
  if (p < 0.001) return "***";
  if (p < 0.01) return "**";
  return p < 0.05 ? "*" : "";
}

}  // namespace lumen
