#include "lumen/coverage/way.h"

#include <gtest/gtest.h>

#include "lumen/base/random.h"
#include "lumen/coverage/tube_world_test.h"

namespace lumen {
namespace {

using Eigen::Vector3d;
using Eigen::Vector3f;

constexpr WayOptions kWayOptions{.spacing = 0.5, .smoothing = 1, .least_branch = 3, .step = 0.2};

// Straight from one corner to the next, a little unsteady.
std::vector<Vector3d> PathThrough(const std::vector<Vector3d>& corners) {
  constexpr double kStep = 0.1;
  Random random(4);
  std::vector<Vector3d> path;
  for (size_t i = 1; i < corners.size(); ++i) {
    const Vector3d leg = corners[i] - corners[i - 1];
    const auto count = static_cast<int>(leg.norm() / kStep);
    for (int k = 0; k < count; ++k) {
      const double x = random.Normal(0, 0.02), y = random.Normal(0, 0.02);
      path.push_back(corners[i - 1] + leg * k / count + Vector3d(x, y, 0));
    }
  }
  return path;
}

TEST(FindWays, InAndOutIsOneWayThatBeginsWhereThePathDid) {
  for (const double sign : {1.0, -1.0}) {
    const std::vector<ArcCurve> ways =
        FindWays(PathThrough({{0, 0, 0}, {0, 0, sign * 12}, {0, 0, sign * 3}}), kWayOptions);
    ASSERT_EQ(ways.size(), 1U);
    EXPECT_NEAR(ways[0].Length(), 12, 0.7);
    EXPECT_LT(ways[0].At(0).position.norm(), 0.1F);
    EXPECT_NEAR(ways[0].At(ways[0].Length()).position.z(), sign * 12, 0.6);
    EXPECT_NEAR(ways[0].At(6).position.z(), sign * 6, 0.3);
  }
}

TEST(FindWays, RoundABendTheWayIsAsLongAsTheBend) {
  std::vector<Vector3d> bend;
  for (int i = 0; i <= 200; ++i)
    bend.emplace_back(10 * std::cos(i * M_PI / 200), 10 * std::sin(i * M_PI / 200), 0);
  const std::vector<ArcCurve> ways = FindWays(bend, kWayOptions);
  ASSERT_EQ(ways.size(), 1U);
  EXPECT_NEAR(ways[0].Length(), 10 * M_PI, 1.2);
}

TEST(FindWays, ABranchThatIsLongEnoughIsAWayOfItsOwn) {
  const auto with_branch = [](double length) {
    return FindWays(PathThrough({{0, 0, 0}, {0, 0, 8}, {length, 0, 8}, {0, 0, 8}, {0, 0, 14}}), kWayOptions);
  };
  const std::vector<ArcCurve> ways = with_branch(5);
  ASSERT_EQ(ways.size(), 2U);
  EXPECT_NEAR(ways[0].Length(), 14, 1);
  EXPECT_NEAR(ways[1].Length(), 5, 1);
  EXPECT_LT((ways[1].At(0).position - Vector3f(0, 0, 8)).norm(), 1);
  EXPECT_LT((ways[1].At(ways[1].Length()).position - Vector3f(5, 0, 8)).norm(), 0.7);
  EXPECT_EQ(with_branch(2).size(), 1U);
}

TEST(FindWays, WhatHardlyMovesHasNoWay) {
  EXPECT_TRUE(FindWays({}, kWayOptions).empty());
  EXPECT_TRUE(FindWays({{1, 2, 3}}, kWayOptions).empty());
  EXPECT_TRUE(FindWays(std::vector<Vector3d>(100, {1, 2, 3}), kWayOptions).empty());
  EXPECT_TRUE(FindWays(PathThrough({{0, 0, 0}, {0, 0, 0.6}, {0, 0, 0}}), kWayOptions).empty());
}

TEST(WayLocator, KnowsTheWayAndThePlaceOnIt) {
  const ArcCurve aside({{0, 0, 5}, {4, 0, 5}, {8, 0, 5}}, 0.2F);
  const WayLocator locator({AxisOf(0, 10), aside}, 3);
  EXPECT_EQ(locator.Count(), 2);
  const auto on_first = locator.Locate({0, 1.5F, 2.5F});
  ASSERT_TRUE(on_first);
  EXPECT_EQ(on_first->way, 0);
  EXPECT_NEAR(on_first->place.s, 2.5, 1e-3);
  EXPECT_NEAR(on_first->place.radius, 1.5, 1e-3);
  const auto on_second = locator.Locate({6, 0.5F, 5.5F});
  ASSERT_TRUE(on_second);
  EXPECT_EQ(on_second->way, 1);
  EXPECT_NEAR(on_second->place.s, 6, 1e-3);
}

TEST(WayLocator, TheWayThatWouldHitItIfItWentOnIsNotNearest) {
  const ArcCurve aims({{0, 0, 5}, {4, 0, 5}, {8, 0, 5}}, 0.2F);
  const ArcCurve passes({{12, 0, 0}, {12, 0, 5}, {12, 0, 10}}, 0.2F);
  const auto place = WayLocator({aims, passes}, 5).Locate({11, 0, 5});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->way, 1);
}

TEST(WayLocator, BeyondTheEndsNothingIsOfAWay) {
  const WayLocator locator({AxisOf(0, 10)}, 3);
  EXPECT_TRUE(locator.Locate({1, 0, 0.1F}));
  EXPECT_FALSE(locator.Locate({1, 0, -0.2F}));
  EXPECT_TRUE(locator.Locate({1, 0, 9.9F}));
  EXPECT_FALSE(locator.Locate({1, 0, 10.2F}));
  EXPECT_FALSE(WayLocator({}, 3).Locate({0, 0, 1}));
}

}  // namespace
}  // namespace lumen
