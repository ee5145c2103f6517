#include "lumen/coverage/sightings.h"

#include <gtest/gtest.h>

#include "lumen/coverage/tube_world_test.h"

namespace lumen {
namespace {

using Eigen::Vector3d;

double CosineAt(double degrees) { return std::cos(degrees * M_PI / 180); }

// Sees a square of the size of twice the distance.
Camera SquareCamera() { return Camera::FromFieldOfView(90, 64, 64); }
std::vector<Rigid3> AtOrigin() { return {Rigid3()}; }

WallPiece PieceAt(const Vector3d& middle, const Vector3d& normal = -Vector3d::UnitZ()) {
  return {middle, normal.normalized(), 1};
}

// What one frame at the origin, looking along z, sees of a piece.
WallSighting SightingOf(const WallPiece& piece, const TriangleMesh& wall, const SightingOptions& options = {},
                        const Mask& mask = {}) {
  return FindWallSightings({piece}, TriangleTree(wall), {SquareCamera(), mask}, AtOrigin(), options, 1)[0];
}

TEST(WallPieces, HaveTheirTrianglesMiddleNormalAndArea) {
  TriangleMesh mesh;
  mesh.vertices = {{0, 0, 1}, {3, 0, 1}, {0, 6, 1}};
  mesh.triangles = {{0, 1, 2}, {0, 2, 1}, {0, 0, 1}};
  const std::vector<WallPiece> pieces = PiecesOf(mesh);
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_LT((pieces[0].middle - Vector3d(1, 2, 1)).norm(), 1e-9);
  EXPECT_LT((pieces[0].normal - Vector3d::UnitZ()).norm(), 1e-9);
  EXPECT_NEAR(pieces[0].area, 9, 1e-9);
  EXPECT_LT((pieces[1].normal + Vector3d::UnitZ()).norm(), 1e-9);
  EXPECT_EQ(pieces[2].area, 0);
  EXPECT_EQ(pieces[2].normal, Vector3d(0, 0, 0));
}

TEST(WallPieces, OfATubeFaceTheAxis) {
  double area = 0;
  for (const WallPiece& piece : PiecesOf(MakeTube(RoundTube(2), 0, 5))) {
    EXPECT_LT(piece.normal.dot(Vector3d(piece.middle.x(), piece.middle.y(), 0)), 0);
    area += piece.area;
  }
  EXPECT_NEAR(area, 2 * M_PI * 2 * 5, 0.1);
}

// A floor, and half as far a screen before its middle.
TEST(WallSightings, WhatStandsBeforeAPieceHidesIt) {
  const TriangleMesh floor = MakePlate({-3, -3, 4}, {0, 6, 0}, {6, 0, 0}, 30);
  const TriangleMesh world = Together(floor, MakePlate({-0.5, -0.5, 2}, {0, 1, 0}, {1, 0, 0}));
  const std::vector<WallPiece> pieces = PiecesOf(floor);
  const TriangleTree tree(world);
  for (const int threads : {1, 3}) {
    const auto sightings = FindWallSightings(pieces, tree, {SquareCamera(), {}}, AtOrigin(), {}, threads);
    int hidden = 0;
    for (size_t i = 0; i < pieces.size(); ++i) {
      const bool behind = pieces[i].middle.head<2>().cwiseAbs().maxCoeff() < 1;
      hidden += behind ? 1 : 0;
      EXPECT_EQ(sightings[i].frames, behind ? 0 : 1) << pieces[i].middle.transpose();
      EXPECT_NEAR(sightings[i].straightest, behind ? 0 : 4 / pieces[i].middle.norm(), 1e-6);
    }
    EXPECT_GT(hidden, 100);
  }
}

TEST(WallSightings, OnlyWhatStandsBeforeItByMoreThanTheSlackHides) {
  const TriangleMesh screen = MakePlate({-1, -1, 2}, {0, 2, 0}, {2, 0, 0});
  EXPECT_EQ(SightingOf(PieceAt({0.1, 0, 2.1}), screen).frames, 0);
  EXPECT_EQ(SightingOf(PieceAt({0.1, 0, 2.1}), screen, {.slack = 0.05}).frames, 0);
  EXPECT_EQ(SightingOf(PieceAt({0.1, 0, 2.1}), screen, {.slack = 0.15}).frames, 1);
  EXPECT_EQ(SightingOf(PieceAt({0.1, 0, 2}), screen).frames, 1) << "it does not hide itself";
}

TEST(WallSightings, TooFlatALookDoesNotCount) {
  for (const double degrees : {0.0, 60.0, 74.0, 76.0, 89.0, 91.0, 180.0}) {
    const Vector3d normal(0, std::sin(degrees * M_PI / 180), -CosineAt(degrees));
    const WallSighting sighting = SightingOf(PieceAt({0, 0, 3}, normal), {});
    EXPECT_EQ(sighting.frames, degrees < 75 ? 1 : 0) << degrees;
    EXPECT_NEAR(sighting.straightest, degrees < 90 ? CosineAt(degrees) : 0, 1e-9) << degrees;
  }
  const WallPiece flat = PieceAt({0, 0, 3}, {0, 1, -0.2});
  EXPECT_EQ(SightingOf(flat, {}, {.flattest_degrees = 85}).frames, 1);
}

TEST(WallSightings, OnlyThePictureAndItsMaskCount) {
  EXPECT_EQ(SightingOf(PieceAt({2.9, 0, 3}), {}).frames, 1);
  EXPECT_EQ(SightingOf(PieceAt({3.1, 0, 3}), {}).frames, 0);
  EXPECT_EQ(SightingOf(PieceAt({0, -3.1, 3}), {}).frames, 0);
  EXPECT_EQ(SightingOf(PieceAt({0, 0, -3}, Vector3d::UnitZ()), {}).frames, 0) << "behind the camera";
  Mask mask(4, 2);  // coarser than the picture; blank on the left
  for (int y = 0; y < 2; ++y) mask(2, y) = mask(3, y) = 255;
  EXPECT_EQ(SightingOf(PieceAt({1, 0, 3}), {}, {}, mask).frames, 1);
  EXPECT_EQ(SightingOf(PieceAt({2.9, 2.9, 3}), {}, {}, mask).frames, 1);
  EXPECT_EQ(SightingOf(PieceAt({-1, 0, 3}), {}, {}, mask).frames, 0);
}

TEST(WallSightings, EveryFrameThatSeesItIsCounted) {
  const std::vector<Rigid3> poses = {PoseOnAxis(0), PoseOnAxis(1), PoseOnAxis(2), PoseOnAxis(5)};
  const WallPiece piece = PieceAt({1, 0, 4}, {-1, 0, 0});
  const Eye eye{SquareCamera(), {}};
  const WallSighting all = FindWallSightings({piece}, TriangleTree({}), eye, poses, {}, 1)[0];
  EXPECT_EQ(all.frames, 2) << "from 1 and 2; from 0 too flatly, from 5 not at all";
  EXPECT_NEAR(all.straightest, 1 / std::sqrt(5), 1e-9);
}

TEST(SeenPieces, AreThoseThatAnyFrameSees) {
  const TriangleMesh floor = MakePlate({-3, -3, 4}, {0, 6, 0}, {6, 0, 0}, 30);
  const TriangleTree tree(Together(floor, MakePlate({-0.5, -0.5, 2}, {0, 1, 0}, {1, 0, 0})));
  const std::vector<WallPiece> pieces = PiecesOf(floor);
  const Eye eye{SquareCamera(), {}};
  std::vector<Rigid3> poses;
  for (int i = 0; i < 5; ++i) poses.push_back(PoseOnAxis(0.3 * i));
  const auto sightings = FindWallSightings(pieces, tree, eye, poses, {}, 1);
  const auto seen = FindSeenPieces(pieces, tree, eye, poses, {}, 3);
  int unseen = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_EQ(seen[i] != 0, sightings[i].frames > 0);
    unseen += seen[i] == 0 ? 1 : 0;
  }
  EXPECT_GT(unseen, 10);
  EXPECT_TRUE(FindSeenPieces(pieces, tree, eye, {}, {}, 1) == std::vector<char>(pieces.size(), 0));
}

TEST(OpenPieces, AreThoseSomePlaceCanSeeInWhateverDirection) {
  const TriangleTree tree(MakePlate({-9, -9, 2}, {0, 18, 0}, {18, 0, 0}));
  const std::vector<WallPiece> pieces = {PieceAt({0, 0, 1}), PieceAt({0, 0, 3}),
                                         PieceAt({0, 0, -1}, {0, 0, 1}), PieceAt({0, 0, 1}, {0, 0, 1}),
                                         PieceAt({0, 0, 1}, {1, 0, -0.2})};
  const auto open_from = [&](const std::vector<Vector3d>& places) {
    return FindOpenPieces(pieces, tree, places, {}, 1);
  };
  EXPECT_EQ(open_from({{0, 0, 0}}), (std::vector<char>{1, 0, 1, 0, 0}));
  EXPECT_EQ(open_from({{0, 0, 0}, {0, 0, 2.5}}), (std::vector<char>{1, 1, 1, 0, 0}));
  EXPECT_EQ(open_from({}), std::vector<char>(5, 0));
}

// One depth map of a plane four units before the camera.
DepthSighting SeenOfPlane(const WallPiece& piece, const DepthSightingOptions& options = {}) {
  const TriangleTree plane(MakePlate({-9, -9, 4}, {0, 18, 0}, {18, 0, 0}));
  return FindDepthSightings({piece}, RenderViews(plane, SquareCamera(), AtOrigin()), options, 1)[0];
}

TEST(DepthSightings, TellShownFromHiddenFromSeenThrough) {
  const DepthSighting shown = SeenOfPlane(PieceAt({1, 0, 4}));
  EXPECT_EQ(shown.views, 1);
  EXPECT_EQ(shown.hidden + shown.through, 0);
  EXPECT_NEAR(shown.straightest, 4 / std::sqrt(17), 1e-6);
  EXPECT_NEAR(shown.nearest, std::sqrt(17), 1e-6);
  EXPECT_EQ(shown.nearest_view, 0);
  const DepthSighting behind = SeenOfPlane(PieceAt({1, 0, 4.4}));
  EXPECT_EQ(behind.hidden, 1);
  EXPECT_EQ(behind.views + behind.through, 0);
  EXPECT_EQ(behind.nearest_view, -1);
  EXPECT_EQ(behind.straightest, 0);
  const DepthSighting before = SeenOfPlane(PieceAt({1, 0, 3.4}));
  EXPECT_EQ(before.through, 1);
  EXPECT_EQ(before.views + before.hidden, 0);
  const DepthSighting a_little_before = SeenOfPlane(PieceAt({1, 0, 3.64}));
  EXPECT_EQ(a_little_before.through + a_little_before.views + a_little_before.hidden, 0);
  EXPECT_EQ(SeenOfPlane(PieceAt({1, 0, 4.4}), {.slack = 0.15}).views, 1);
  EXPECT_EQ(SeenOfPlane(PieceAt({1, 0, 3.4}), {.through = 0.2}).through, 0);
}

TEST(DepthSightings, ATooFlatLookIsNoViewButIsRemembered) {
  const DepthSighting flat = SeenOfPlane(PieceAt({0, 0, 4}, {0, std::sin(1.4), -std::cos(1.4)}));
  EXPECT_EQ(flat.views, 0);
  EXPECT_NEAR(flat.straightest, std::cos(1.4), 1e-9);
  EXPECT_EQ(SeenOfPlane(PieceAt({0, 0, 4}, {0, 0, 1})).views, 0) << "its back";
  EXPECT_EQ(SeenOfPlane(PieceAt({0, 0, 4}, {0, 0, 1})).straightest, 0);
}

TEST(DepthSightings, WhereNoDepthIsKnownNothingIsSaid) {
  const auto said = [](const DepthSighting& sighting) {
    return sighting.views + sighting.hidden + sighting.through;
  };
  EXPECT_EQ(said(SeenOfPlane(PieceAt({4.1, 0, 4}))), 0) << "outside the picture";
  for (const double x : {-3.9, 3.9}) {
    EXPECT_EQ(said(SeenOfPlane(PieceAt({x, 0, 4}))), 0) << "on its border";
    EXPECT_EQ(said(SeenOfPlane(PieceAt({0, x, 4}))), 0) << "on its border";
  }
  EXPECT_EQ(said(SeenOfPlane(PieceAt({3.9, 0, 4}), {.border_pixels = 0})), 1);
  EXPECT_EQ(said(SeenOfPlane(PieceAt({0, 0, -4}))), 0) << "behind the camera";
  const ViewList blank = RenderViews(TriangleTree({}), SquareCamera(), AtOrigin());
  EXPECT_EQ(said(FindDepthSightings({PieceAt({0, 0, 4})}, blank, {}, 1)[0]), 0);
}

TEST(DepthSightings, OfATubeAddUpOverViews) {
  const TriangleTree tube(MakeTube(RoundTube(1), -1, 12));
  const std::vector<Rigid3> poses = {PoseOnAxis(0), PoseOnAxis(4), PoseOnAxis(2), PoseOnAxis(6)};
  const ViewList views = RenderViews(tube, SquareCamera(), poses);
  for (const int threads : {1, 3}) {
    const DepthSighting wall = FindDepthSightings({PieceAt({1, 0, 5.5}, {-1, 0, 0})}, views, {}, threads)[0];
    EXPECT_EQ(wall.views, 2) << "from 2 and 4; from 0 too flatly, from 6 not at all";
    EXPECT_EQ(wall.nearest_view, 1);
    EXPECT_NEAR(wall.nearest, std::hypot(1, 1.5), 1e-9);
    EXPECT_NEAR(wall.straightest, 1 / std::hypot(1, 1.5), 1e-9);
    const DepthSighting outside =
        FindDepthSightings({PieceAt({1.6, 0, 5.5}, {-1, 0, 0})}, views, {}, threads)[0];
    EXPECT_EQ(outside.hidden, 2) << "0, 2 look there, 4 and 6 past it";
  }
}

DepthSighting ShownAt(double degrees) {
  DepthSighting sighting;
  sighting.straightest = CosineAt(degrees);
  return sighting;
}
WallSighting RaysAt(double degrees) { return {1, CosineAt(degrees)}; }

TEST(ChanceSeen, IsAHalfAtTheLimitAndFallsWithTheAngle) {
  EXPECT_NEAR(ChanceSeen(ShownAt(75), {}), 0.5, 1e-9);
  EXPECT_NEAR(ChanceSeen(ShownAt(75), RaysAt(75)), 0.5, 1e-9);
  EXPECT_GT(ChanceSeen(ShownAt(40), {}), 0.999);
  EXPECT_LT(ChanceSeen(ShownAt(89.9), {}), 0.1);
  for (int degrees = 0; degrees < 89; ++degrees) {
    EXPECT_GE(ChanceSeen(ShownAt(degrees), {}), ChanceSeen(ShownAt(degrees + 1), {}));
    EXPECT_GE(ChanceSeen({}, RaysAt(degrees)), ChanceSeen({}, RaysAt(degrees + 1)));
    EXPECT_GE(ChanceSeen(ShownAt(80), RaysAt(degrees)), ChanceSeen(ShownAt(80), RaysAt(degrees + 1)));
  }
}

TEST(ChanceSeen, RaysMayHelpDepthMapsButAloneSayLittle) {
  EXPECT_EQ(ChanceSeen({}, {}), 0);
  EXPECT_NEAR(ChanceSeen({}, RaysAt(0)), 0.3, 1e-9);
  EXPECT_NEAR(ChanceSeen({}, RaysAt(75)), 0.15, 1e-9);
  EXPECT_NEAR(ChanceSeen(ShownAt(80), RaysAt(70)), 0.5, 1e-9);
  EXPECT_EQ(ChanceSeen(ShownAt(60), RaysAt(89)), ChanceSeen(ShownAt(60), {})) << "they take nothing away";
}

TEST(ChanceSeen, ALaterLimitMakesItLarger) {
  EXPECT_NEAR(ChanceSeen(ShownAt(85), {}, 10), 0.5, 1e-9);
  EXPECT_NEAR(ChanceSeen(ShownAt(65), {}, -10), 0.5, 1e-9);
}

}  // namespace
}  // namespace lumen
