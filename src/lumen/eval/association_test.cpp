#include "lumen/eval/association.h"

#include <gtest/gtest.h>

#include "lumen/base/error.h"
#include "lumen/base/random.h"

namespace lumen {
namespace {

Trajectory At(const std::vector<double>& times) {
  Trajectory trajectory;
  for (const double time : times) trajectory.push_back({time, Rigid3()});
  return trajectory;
}

// Every pair is looked at: the nearest true pose of each, then the best claim of each true pose.
std::vector<PosePair> AssociateByBruteForce(const Trajectory& estimate, const Trajectory& truth, double gap) {
  std::vector<PosePair> pairs;
  for (size_t j = 0; j < truth.size(); ++j) {
    std::optional<size_t> best;
    for (size_t i = 0; i < estimate.size(); ++i) {
      const double mine = std::abs(estimate[i].time - truth[j].time);
      bool nearest = mine <= gap;
      for (size_t k = 0; k < truth.size(); ++k) {
        const double other = std::abs(estimate[i].time - truth[k].time);
        if (other < mine || (other == mine && k < j)) nearest = false;
      }
      if (nearest && (!best || mine < std::abs(estimate[*best].time - truth[j].time))) best = i;
    }
    if (best) pairs.push_back({*best, j});
  }
  return pairs;
}

TEST(Association, TakesTheNearestWithinTheGap) {
  const auto pairs = AssociateByTime(At({0.001, 0.5, 1.0049, 1.5051}), At({0, 0.5, 1, 1.5}));
  ASSERT_EQ(pairs.size(), 3U);
  EXPECT_EQ(pairs[2].estimate, 2U);
  EXPECT_EQ(pairs[2].truth, 2U);
}

TEST(Association, AGapOfExactlyTheLimitCounts) {
  EXPECT_EQ(AssociateByTime(At({1000.005}), At({1000})).size(), 1U);
}

TEST(Association, ATruePoseGoesToItsNearestClaim) {
  const auto pairs = AssociateByTime(At({0.997, 1.001, 1.004}), At({1}));
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0].estimate, 1U);
}

TEST(Association, EmptyTrajectoriesHaveNothingInCommon) {
  EXPECT_TRUE(AssociateByTime({}, At({1})).empty());
  EXPECT_TRUE(AssociateByTime(At({1}), {}).empty());
}

TEST(Association, AgreesWithBruteForce) {
  Random random(3);
  for (int trial = 0; trial < 50; ++trial) {
    const auto draw = [&](int count) {
      std::vector<double> times;
      for (int i = 0; i < count; ++i) times.push_back(random.Uniform(0, 0.5));
      std::sort(times.begin(), times.end());
      return At(times);
    };
    const Trajectory estimate = draw(60);
    const Trajectory truth = draw(40);
    const auto fast = AssociateByTime(estimate, truth);
    const auto plain = AssociateByBruteForce(estimate, truth, kMaxTimeGap);
    ASSERT_EQ(fast.size(), plain.size());
    for (size_t i = 0; i < fast.size(); ++i) {
      EXPECT_EQ(fast[i].estimate, plain[i].estimate);
      EXPECT_EQ(fast[i].truth, plain[i].truth);
    }
  }
}

TEST(Association, ATimeGivenTwiceIsRefusedByName) {
  EXPECT_NO_THROW(RequireDistinctTimes(At({0, 1, 2}), "estimate.tum"));
  try {
    RequireDistinctTimes(At({0, 1.5, 1.5}), "estimate.tum");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("estimate.tum"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("1.5"), std::string::npos);
  }
}

}  // namespace
}  // namespace lumen
