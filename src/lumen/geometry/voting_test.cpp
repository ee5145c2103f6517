#include "lumen/geometry/voting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lumen/base/random.h"

namespace lumen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double CostAt(double x, const std::vector<double>& values, const std::vector<double>& bounds) {
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) sum += std::min(std::pow((x - values[i]) / bounds[i], 2), 1.0);
  return sum;
}

// The plain way: all ends in order, the running sums of those who agree at the time.
double VotePlainly(const std::vector<double>& values, const std::vector<double>& bounds) {
  struct End {
    double at;
    size_t index;
    double sign;
  };
  std::vector<End> ends;
  for (size_t i = 0; i < values.size(); ++i) {
    ends.push_back({values[i] - bounds[i], i, 1});
    ends.push_back({values[i] + bounds[i], i, -1});
  }
  std::stable_sort(ends.begin(), ends.end(), [](const End& x, const End& y) { return x.at < y.at; });
  double weight = 0, weighted = 0, squares = 0, agreeing = 0, best = 0, best_cost = kInfinity;
  for (const End& end : ends) {
    const double v = values[end.index];
    const double w = end.sign / (bounds[end.index] * bounds[end.index]);
    weight += w;
    weighted += w * v;
    squares += w * v * v;
    agreeing += end.sign;
    if (agreeing == 0) weight = weighted = squares = 0;
    const double cost =
        squares - weighted * weighted / weight + static_cast<double>(values.size()) - agreeing;
    if (agreeing < 1 || !(cost < best_cost)) continue;
    best_cost = cost;
    best = weighted / weight;
  }
  return best;
}

void ExpectAsPlain(const std::vector<double>& values, const std::vector<double>& bounds) {
  const double plain = VotePlainly(values, bounds);
  const Vote vote = EstimateByVoting(values, bounds);
  EXPECT_NEAR(CostAt(vote.value, values, bounds), CostAt(plain, values, bounds),
              1e-8 * static_cast<double>(values.size()));
  // Among a few, two places may be equally good.
  if (values.size() > 10) {
    EXPECT_NEAR(vote.value, plain, 1e-8 * (1 + std::abs(plain)));
  }
  ASSERT_EQ(vote.agrees.size(), values.size());
}

TEST(Voting, FindsTheDenseValueAmongSpreadOnes) {
  const Vote vote = EstimateByVoting({1.0, 5.0, 1.1, 9.0, 0.9, -4.0}, std::vector<double>(6, 0.2));
  EXPECT_NEAR(vote.value, 1.0, 1e-9);
  EXPECT_EQ(vote.agrees, (std::vector<char>{1, 0, 1, 0, 1, 0}));
}

TEST(Voting, EqualsExhaustiveSearch) {
  Random random(3);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<double> values, bounds;
    for (int i = 0; i < 12; ++i) {
      values.push_back(random.Uniform(0, 3));
      bounds.push_back(random.Uniform(0.1, 0.6));
    }
    double best = 1e9;
    for (double x = -0.5; x < 3.5; x += 1e-4) best = std::min(best, CostAt(x, values, bounds));
    EXPECT_LE(CostAt(EstimateByVoting(values, bounds).value, values, bounds), best + 1e-3);
  }
}

TEST(Voting, EqualsThePlainSweep) {
  for (uint64_t seed = 0; seed < 120; ++seed) {
    Random random(seed);
    const auto size = static_cast<size_t>(std::pow(10, random.Uniform(0, seed % 10 == 0 ? 4.8 : 3.5)));
    const double inliers = random.Uniform(0.05, 0.9);
    std::vector<double> values, bounds;
    for (size_t i = 0; i < size; ++i) {
      bounds.push_back(std::exp(random.Normal(-2, 1)));
      values.push_back(random.Chance(inliers) ? 1.3 + bounds.back() * random.Uniform(-1, 1)
                                              : std::exp(random.Normal(0, 2)));
    }
    ExpectAsPlain(values, bounds);
  }
}

TEST(Voting, WhoAgreesWithEverythingChangesNothing) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed);
    std::vector<double> values, bounds;
    for (int i = 0; i < 400; ++i) {
      values.push_back(random.Chance(0.3) ? random.Normal(2, 0.05) : random.Uniform(-5, 9));
      bounds.push_back(0.2);
    }
    const double without = EstimateByVoting(values, bounds).value;
    for (int i = 0; i < 100; ++i) {
      values.push_back(random.Uniform(-5, 9));
      bounds.push_back(kInfinity);
    }
    const Vote vote = EstimateByVoting(values, bounds);
    EXPECT_NEAR(vote.value, without, 1e-9);
    EXPECT_TRUE(
        std::all_of(vote.agrees.begin() + 400, vote.agrees.end(), [](char agrees) { return agrees; }));
  }
  EXPECT_EQ(EstimateByVoting({3, 4}, {kInfinity, kInfinity}).value, 0);
}

TEST(Voting, EqualEndsAndEqualValues) {
  ExpectAsPlain({1, 2, 3}, {0.5, 0.5, 0.5});  // one closes where the next opens
  ExpectAsPlain(std::vector<double>(500, 7.0), std::vector<double>(500, 0.1));
  // Measurements on a grid: many ends at the same place, one grid point with more of them.
  std::vector<double> values, bounds;
  for (int i = 0; i < 2000; ++i) {
    values.push_back(i % 3 == 0 ? 40 : i % 100);
    bounds.push_back(1 + i % 2);
  }
  ExpectAsPlain(values, bounds);
}

TEST(Voting, FewMeasurements) {
  EXPECT_EQ(EstimateByVoting({}, {}).value, 0);
  EXPECT_EQ(EstimateByVoting({5}, {0.1}).value, 5);
  Random random(8);
  for (size_t size = 1; size < 70; ++size) {
    std::vector<double> values, bounds;
    for (size_t i = 0; i < size; ++i) {
      values.push_back(random.Uniform(0, 4));
      bounds.push_back(random.Uniform(0.05, 1));
    }
    ExpectAsPlain(values, bounds);
  }
}

}  // namespace
}  // namespace lumen
