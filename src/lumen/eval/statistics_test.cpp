#include "lumen/eval/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lumen {
namespace {

TEST(Statistics, MeanAndStandardDeviation) {
  EXPECT_DOUBLE_EQ(Mean({2, 4, 4, 4, 5, 5, 7, 9}), 5);
  EXPECT_NEAR(StandardDeviation({2, 4, 4, 4, 5, 5, 7, 9}), std::sqrt(32.0 / 7), 1e-12);
  EXPECT_EQ(StandardDeviation({3}), 0);
}

TEST(Statistics, QuantilesAreLinearBetweenValues) {
  EXPECT_DOUBLE_EQ(Quantile({4, 1, 3, 2}, 0), 1);
  EXPECT_DOUBLE_EQ(Quantile({4, 1, 3, 2}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(Quantile({4, 1, 3, 2}, 1), 4);
  EXPECT_DOUBLE_EQ(Quantile({7}, 0.3), 7);
}

TEST(Statistics, BoxesKeepFarValuesApart) {
  const BoxSummary box = SummariseBox({1, 2, 3, 4, 5, 100});
  EXPECT_DOUBLE_EQ(box.median, 3.5);
  EXPECT_DOUBLE_EQ(box.low_whisker, 1);
  EXPECT_DOUBLE_EQ(box.high_whisker, 5);
  EXPECT_EQ(box.outliers, std::vector<double>{100});
}

// Critical values of printed tables of Student's t, two-sided.
TEST(Statistics, StudentAgreesWithTheTables) {
  if (!StudentTwoSided(1, 1)) GTEST_SKIP() << "built without Boost.Math";
  EXPECT_NEAR(*StudentTwoSided(12.706, 1), 0.05, 5e-5);
  EXPECT_NEAR(*StudentTwoSided(4.303, 2), 0.05, 5e-5);
  EXPECT_NEAR(*StudentTwoSided(2.228, 10), 0.05, 5e-5);
  EXPECT_NEAR(*StudentTwoSided(3.169, 10), 0.01, 1e-5);
  EXPECT_NEAR(*StudentTwoSided(4.587, 10), 0.001, 1e-6);
  EXPECT_NEAR(*StudentTwoSided(-2.042, 30), 0.05, 5e-5);
  EXPECT_NEAR(*StudentTwoSided(2.617, 120), 0.01, 2e-5);
  EXPECT_DOUBLE_EQ(*StudentTwoSided(0, 5), 1);
}

// Student's own example of 1908: the extra sleep of ten patients by two drugs, t = 4.0621, p = 0.002833.
TEST(Statistics, StudentsSleepData) {
  const std::vector<double> first = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
  const std::vector<double> second = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};
  const auto test = PairedTTest(second, first);
  if (!test) GTEST_SKIP() << "built without Boost.Math";
  EXPECT_NEAR(test->t, 4.0621, 5e-5);
  EXPECT_EQ(test->degrees_of_freedom, 9);
  EXPECT_NEAR(test->p, 0.002833, 5e-7);
  EXPECT_NEAR(PairedTTest(first, second)->p, test->p, 1e-12);
}

TEST(Statistics, DegenerateSamples) {
  EXPECT_FALSE(PairedTTest({1}, {2}));
  EXPECT_EQ(PairedTTest({1, 2, 3}, {1, 2, 3})->p, 1);
  EXPECT_EQ(PairedTTest({2, 3, 4}, {1, 2, 3})->p, 0);
}

TEST(Statistics, StarsOfThePaper) {
  EXPECT_EQ(SignificanceStars(0.0009), "***");
  EXPECT_EQ(SignificanceStars(0.001), "**");
  EXPECT_EQ(SignificanceStars(0.01), "*");
  EXPECT_EQ(SignificanceStars(0.05), "");
}

}  // namespace
}  // namespace lumen
