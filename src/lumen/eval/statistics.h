// Samples in a few numbers: mean and spread, quartiles, and the two-sided paired t-test of the paper's
// tables.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lumen {

double Mean(const std::vector<double>& values);  // of at least one
// With n − 1 in the denominator; 0 for a single value.
double StandardDeviation(const std::vector<double>& values);
// Linear between the order statistics; `q` from 0 to 1.
double Quantile(std::vector<double> values, double q);

// Tukey's box: quartiles, whiskers at the last values within 1.5 box heights, and what lies beyond.
struct BoxSummary {
  double low_whisker = 0, low_quartile = 0, median = 0, high_quartile = 0, high_whisker = 0;
  std::vector<double> outliers;
};
BoxSummary SummariseBox(const std::vector<double>& values);

struct TTest {
  double t = 0;
  int degrees_of_freedom = 0;
  double p = 1;  // two-sided
};
// Are the means of a and b (of the same subjects) different? Nothing for fewer than two pairs, or where
// Lumen was built without Boost.Math. Equal differences give t = ±inf and p = 0; all zero, p = 1.
std::optional<TTest> PairedTTest(const std::vector<double>& a, const std::vector<double>& b);
// Two-sided p of Student's t.
std::optional<double> StudentTwoSided(double t, int degrees_of_freedom);

// "***", "**", "*" for p < 0.001, 0.01, 0.05, as in the paper; empty otherwise.
std::string SignificanceStars(double p);

}  // namespace lumen
