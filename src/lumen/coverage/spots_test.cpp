#include "lumen/coverage/spots.h"

#include <gtest/gtest.h>

#include "lumen/coverage/tube_world_test.h"

namespace lumen {
namespace {

using Eigen::Vector3d;

// A sheet of unit squares, and which of its triangles are of the squares whose corners are told.
struct Sheet {
  TriangleMesh mesh = MakePlate({0, 0, 0}, {10, 0, 0}, {0, 10, 0}, 10);
  std::vector<WallPiece> pieces = PiecesOf(mesh);
  std::vector<std::vector<int>> Spots(const std::vector<std::pair<int, int>>& squares,
                                      double least_area) const {
    std::vector<char> wanted(pieces.size(), 0);
    for (const auto& [x, y] : squares)
      for (size_t k = 0; k < 2; ++k) wanted[static_cast<size_t>(2 * (10 * y + x)) + k] = 1;
    return FindSpots(mesh, pieces, wanted, least_area);
  }
};

TEST(FindSpots, PartsThatShareAnEdgeAreOne) {
  const Sheet sheet;
  const auto spots = sheet.Spots({{1, 1}, {2, 1}, {2, 2}, {2, 3}, {7, 7}, {8, 7}}, 0);
  ASSERT_EQ(spots.size(), 2U);
  EXPECT_EQ(spots[0].size(), 8U);
  EXPECT_EQ(spots[1].size(), 4U);
  EXPECT_EQ(sheet.Spots({{1, 1}, {2, 2}}, 0).size(), 2U) << "a corner joins nothing";
}

TEST(FindSpots, AreOfTheLeastAreaAtLeastAndTheLargestComesFirst) {
  const Sheet sheet;
  const std::vector<std::pair<int, int>> squares = {{0, 0}, {4, 4}, {5, 4}, {6, 4}, {0, 9}, {1, 9}};
  const auto all = sheet.Spots(squares, 0);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].size(), 6U);
  EXPECT_EQ(all[2].size(), 2U);
  EXPECT_EQ(sheet.Spots(squares, 1.9).size(), 2U);
  EXPECT_EQ(sheet.Spots(squares, 3.1).size(), 0U);
  EXPECT_TRUE(sheet.Spots({}, 0).empty());
}

// A patch at z = 10 on the right wall of a tube along z, of squares of a tenth; and what looked at it.
struct PatchWorld {
  TriangleMesh mesh = MakePlate({1, -0.4, 9.5}, {0, 0, 1}, {0, 0.8, 0}, 4);
  std::vector<WallPiece> pieces = PiecesOf(mesh);
  std::vector<DepthSighting> sightings{pieces.size()};
  std::vector<std::optional<PlaceOnWay>> places;
  TriangleMesh in_the_way;
  CoverageInput input;

  MissedSpot Describe() {
    const WayLocator locator({AxisOf(0, 20)}, 3);
    std::vector<int> spot;
    for (size_t i = 0; i < pieces.size(); ++i) {
      places.push_back(locator.Locate(pieces[i].middle.cast<float>()));
      spot.push_back(static_cast<int>(i));
    }
    return DescribeSpot(spot, pieces, sightings, places, TriangleTree(Together(mesh, in_the_way)), input);
  }
};

TEST(DescribeSpot, SaysHowLargeAndWhere) {
  PatchWorld world;
  const MissedSpot spot = world.Describe();
  EXPECT_EQ(spot.way, 0);
  EXPECT_NEAR(spot.area, 0.8, 1e-6);
  EXPECT_NEAR(spot.along, 10, 0.15);
  EXPECT_LT((spot.middle - Vector3d(1, 0, 10)).norm(), 0.2);
  EXPECT_NEAR(spot.extent, 1.1, 0.25);
  EXPECT_EQ(spot.frame, -1) << "there are no frames";
}

TEST(DescribeSpot, IsBehindAFoldIfMostOfItWasHidden) {
  PatchWorld world;
  EXPECT_FALSE(world.Describe().behind_fold);
  for (size_t i = 0; i < world.sightings.size() / 3; ++i) world.sightings[i].hidden = 2;
  EXPECT_FALSE(world.Describe().behind_fold);
  for (DepthSighting& sighting : world.sightings) sighting.hidden = 1;
  EXPECT_TRUE(world.Describe().behind_fold);
}

TEST(DescribeSpot, GoesBackToTheNearestFrameThatItIsOpenTo) {
  PatchWorld world;
  world.input.frames = {{3, 0.3, PoseOnAxis(8)}, {4, 0.4, PoseOnAxis(8.9)}, {9, 0.9, PoseOnAxis(12)}};
  MissedSpot spot = world.Describe();
  EXPECT_EQ(spot.frame, 4);
  EXPECT_EQ(spot.time, 0.4);
  EXPECT_EQ(spot.clock, 3);
  EXPECT_TRUE(spot.is_ahead);
  // Something before it from there, but not from beyond it.
  world.in_the_way = MakePlate({0, -2, 9.4}, {0, 4, 0}, {2, 0, 0});
  spot = world.Describe();
  EXPECT_EQ(spot.frame, 9);
  EXPECT_FALSE(spot.is_ahead);
  // From nowhere: the nearest all the same.
  world.in_the_way = Together(world.in_the_way, MakePlate({0, -2, 10.6}, {0, 4, 0}, {2, 0, 0}));
  EXPECT_EQ(world.Describe().frame, 4);
}

TEST(DescribeSpot, TheClockIsThePictures) {
  PatchWorld world;
  // The tip turned about its own axis: what was at the right comes to another hour.
  const auto clock_when_turned = [&](double degrees) {
    const Rigid3 turned(ExpSO3({0, 0, degrees * M_PI / 180}), {0, 0, 8.9});
    world.input.frames = {{0, 0, turned}};
    return world.Describe().clock;
  };
  EXPECT_EQ(clock_when_turned(0), 3);
  EXPECT_EQ(clock_when_turned(90), 12);
  EXPECT_EQ(clock_when_turned(-90), 6);
  EXPECT_EQ(clock_when_turned(180), 9);
  EXPECT_EQ(clock_when_turned(-30), 4);
  EXPECT_EQ(clock_when_turned(60), 1);
  EXPECT_EQ(clock_when_turned(120), 11);
}

}  // namespace
}  // namespace lumen
