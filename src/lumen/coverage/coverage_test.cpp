#include "lumen/coverage/coverage.h"

#include <gtest/gtest.h>

#include "lumen/base/random.h"
#include "lumen/coverage/tube_world_test.h"

namespace lumen {
namespace {

using Eigen::Vector3d;

constexpr double kPathLength = 9, kFold = 5, kFoldReach = 0.4, kFoldHeight = 0.5;
constexpr double kFoldAngle = M_PI / 6;  // towards four o'clock

// A tube of radius 1 with a fold round one half of it.
double FoldedTube(double z, double angle) {
  const double side = std::clamp((M_PI / 2 + 0.1 - AngleBetween(angle, kFoldAngle)) / 0.2, 0.0, 1.0);
  return 1 - kFoldHeight * side * std::max(0.0, 1 - std::abs(z - kFold) / kFoldReach);
}

// A tube, the path in, what its depth maps and its frames saw, and what is true of it.
struct TubeExam {
  TriangleMesh wall;
  TriangleMesh surface;  // what was seen of it
  std::vector<WallPiece> pieces;
  std::vector<char> seen;
  CoverageInput input;

  double TrueShare(double from, double to) const;
  double MissedArea(const std::function<bool(const Vector3d&)>& where) const;
};

double TubeExam::TrueShare(double from, double to) const {
  double all = 0, part = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].middle.z() < from || pieces[i].middle.z() > to) continue;
    all += pieces[i].area;
    part += seen[i] != 0 ? pieces[i].area : 0;
  }
  return part / all;
}

double TubeExam::MissedArea(const std::function<bool(const Vector3d&)>& where) const {
  double area = 0;
  for (size_t i = 0; i < pieces.size(); ++i)
    area += seen[i] == 0 && where(pieces[i].middle) ? pieces[i].area : 0;
  return area;
}

// Forwards only; the tip first looks back from some places, if it does, so that the beginning is seen too.
TubeExam Examine(const TubeShape& shape, bool look_back) {
  TubeExam exam;
  exam.wall = MakeTube(shape, -2, 14);
  exam.pieces = PiecesOf(exam.wall);
  const TriangleTree tree(exam.wall);
  std::vector<Rigid3> poses, views;
  for (double z = 0; z < kPathLength; z += 0.15) poses.push_back(PoseOnAxis(z));
  for (double z = 1.5; look_back && z < 4.1; z += 0.2) poses.push_back(PoseOnAxis(z, true));
  for (size_t i = 0; i < poses.size(); ++i) {
    exam.input.frames.push_back({static_cast<int64_t>(100 + i), 0.2 * static_cast<double>(i), poses[i]});
    if (i % 3 == 0) views.push_back(poses[i]);
  }
  exam.input.eye.camera = Camera::FromFieldOfView(90, 72, 72);
  exam.input.views = RenderViews(tree, exam.input.eye.camera, views);
  exam.seen = FindSeenPieces(exam.pieces, tree, exam.input.eye, poses, {}, 2);
  exam.surface.vertices = exam.wall.vertices;
  for (size_t i = 0; i < exam.seen.size(); ++i)
    if (exam.seen[i] != 0) exam.surface.triangles.push_back(exam.wall.triangles[i]);
  return exam;
}

void ExpectWholeStretches(const WallCoverage& coverage) {
  double area = 0, seen = 0, along = 0;
  for (const Stretch& stretch : coverage.stretches) {
    EXPECT_EQ(stretch.way, 0);
    EXPECT_NEAR(stretch.from, along, 1e-5);
    along = stretch.to;
    area += stretch.area;
    seen += stretch.area * stretch.seen;
    EXPECT_GT(stretch.sigma, 0);
  }
  EXPECT_NEAR(along, static_cast<double>(coverage.ways[0].Length()), 1e-4);
  EXPECT_NEAR(seen / area, coverage.seen, 1e-9);
  EXPECT_NEAR(area / (2 * M_PI * along), 1, 0.06);
}

void ExpectTrueShares(const WallCoverage& coverage, const TubeExam& exam, double tolerance) {
  EXPECT_NEAR(coverage.seen, exam.TrueShare(0, static_cast<double>(coverage.ways[0].Length())), tolerance);
  for (const Stretch& stretch : coverage.stretches)
    EXPECT_NEAR(stretch.seen, exam.TrueShare(stretch.from, stretch.to), 2 * tolerance)
        << stretch.from << " to " << stretch.to;
}

bool IsBehindTheFold(const Vector3d& p) { return p.z() > kFold - 0.2 && p.z() < kFold + 2; }

void ExpectTheSpotBehindTheFold(const WallCoverage& coverage, const TubeExam& exam) {
  ASSERT_EQ(coverage.spots.size(), 1U);
  const MissedSpot& spot = coverage.spots[0];
  const double truth = exam.MissedArea(IsBehindTheFold);
  EXPECT_GT(truth, 1);
  EXPECT_NEAR(spot.area / truth, 1, 0.2);
  EXPECT_TRUE(spot.behind_fold);
  EXPECT_EQ(spot.way, 0);
  EXPECT_NEAR(spot.along, kFold + 0.3, 0.3);
  EXPECT_NEAR(spot.middle.z(), spot.along, 0.05);
  EXPECT_LT(AngleBetween(AngleOf(spot.middle), kFoldAngle), 0.3);
  EXPECT_NEAR(spot.extent, M_PI * 0.8, 1);
  ASSERT_GE(spot.frame, 100);
  const CoverageFrame& frame = exam.input.frames[static_cast<size_t>(spot.frame - 100)];
  EXPECT_NEAR(spot.time, frame.time, 1e-9);
  EXPECT_NEAR(frame.world_from_camera.Translation().z(), spot.along, 1);
  EXPECT_EQ(spot.clock, 4);
}

// One examination for all tests of it.
class FoldedTubeExam : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { exam_ = new TubeExam(Examine(FoldedTube, true)); }
  static void TearDownTestSuite() {
    delete exam_;
    exam_ = nullptr;
  }
  static TubeExam* exam_;
};
TubeExam* FoldedTubeExam::exam_ = nullptr;

TEST_F(FoldedTubeExam, SharesAndTheSpotBehindTheFoldAreTrue) {
  const WallCoverage coverage =
      MeasureCoverage(exam_->surface, exam_->input, {.mm_per_unit = 10, .stretch_mm = 30}, 2);
  ASSERT_EQ(coverage.ways.size(), 1U);
  EXPECT_NEAR(coverage.ways[0].Length(), kPathLength, 0.5);
  EXPECT_NEAR(coverage.widths[0], 2, 0.1);
  EXPECT_EQ(coverage.mm_per_unit, 10);
  EXPECT_EQ(coverage.states.size(), coverage.wall.triangles.size());
  ASSERT_EQ(coverage.stretches.size(), 3U);
  ExpectWholeStretches(coverage);
  ExpectTrueShares(coverage, *exam_, 0.03);
  ExpectTheSpotBehindTheFold(coverage, *exam_);
}

TEST_F(FoldedTubeExam, WithoutMillimetresStretchesAreWidthsOnAnyNumberOfThreads) {
  const WallCoverage one = MeasureCoverage(exam_->surface, exam_->input, {}, 1);
  EXPECT_EQ(one.mm_per_unit, 0);
  const double length = static_cast<double>(one.ways[0].Length());
  EXPECT_EQ(one.stretches.size(), static_cast<size_t>(std::lround(length / one.widths[0])));
  EXPECT_EQ(one.spots.size(), 1U);
  const WallCoverage three = MeasureCoverage(exam_->surface, exam_->input, {}, 3);
  EXPECT_EQ(one.states, three.states);
  EXPECT_EQ(one.seen, three.seen);
  EXPECT_EQ(one.wall.vertices, three.wall.vertices);
}

TEST_F(FoldedTubeExam, AKnownWallIsMeasuredAsItIs) {
  const TriangleMesh lid = MakePlate({-1.1, -1.1, -2}, {2.2, 0, 0}, {0, 2.2, 0}, 10);
  const TriangleMesh end = MakePlate({-1.1, -1.1, 14}, {0, 2.2, 0}, {2.2, 0, 0}, 10);
  const TriangleMesh behind = MakeTube(RoundTube(1.4), 0, kPathLength);
  const TriangleMesh closed = Together(Together(exam_->wall, lid), Together(end, behind));
  const std::vector<ArcCurve> ways = FindWaysThrough(TriangleTree(closed), exam_->input.frames);
  ASSERT_EQ(ways.size(), 1U);
  const WallCoverage coverage = MeasureCoverageOf(closed, ways, exam_->input, {.mm_per_unit = 10}, 0, 2);
  ASSERT_EQ(coverage.states.size(), closed.triangles.size());
  ExpectWholeStretches(coverage);
  ExpectTrueShares(coverage, *exam_, 0.03);
  ExpectTheSpotBehindTheFold(coverage, *exam_);
  for (size_t i = 0; i < exam_->pieces.size(); ++i) {
    const double z = exam_->pieces[i].middle.z();
    if (z < -0.1 || z > kPathLength + 0.1) {
      ASSERT_EQ(coverage.states[i], PieceState::kOutside) << z;
    }
  }
  for (size_t i = exam_->pieces.size(); i < coverage.states.size(); ++i)
    ASSERT_EQ(coverage.states[i], PieceState::kOutside) << "the lids, and what lies behind the wall";
}

TEST_F(FoldedTubeExam, ARegistrationThatIsOffNeedsItsSlack) {
  TubeExam exam = *exam_;
  const ViewList views = exam.input.views;
  exam.input.views.load = [views](int i) {
    DepthView view = views.load(i);
    for (size_t k = 0; k < view.depth.Size(); ++k) view.depth.Data()[k] *= 0.92F;
    return view;
  };
  const std::vector<ArcCurve> ways = FindWaysThrough(TriangleTree(exam.wall), exam.input.frames);
  const double without = MeasureCoverageOf(exam.wall, ways, exam.input, {}, 0, 2).seen;
  const double with = MeasureCoverageOf(exam.wall, ways, exam.input, {}, 0.06, 2).seen;
  EXPECT_LT(without, with - 0.2);
  EXPECT_NEAR(with, exam.TrueShare(0, kPathLength), 0.04);
}

// How much of the wall, by area, is in each state.
std::array<double, 5> AreasByState(const WallCoverage& coverage) {
  const std::vector<WallPiece> pieces = PiecesOf(coverage.wall);
  std::array<double, 5> areas{};
  for (size_t i = 0; i < pieces.size(); ++i) areas[static_cast<size_t>(coverage.states[i])] += pieces[i].area;
  return areas;
}
double AreaIn(const std::array<double, 5>& areas, PieceState state) {
  return areas[static_cast<size_t>(state)];
}

TEST_F(FoldedTubeExam, AfarAndAtAGlanceAreToldApart) {
  const auto measure = [&](double afar_widths, double glance_seconds) {
    return MeasureCoverage(exam_->surface, exam_->input,
                           {.afar_widths = afar_widths, .glance_seconds = glance_seconds}, 2);
  };
  const auto plain = AreasByState(measure(5, 0));
  const double seen = AreaIn(plain, PieceState::kSeen), missed = AreaIn(plain, PieceState::kNotSeen);
  EXPECT_GT(seen, 10 * missed);
  EXPECT_LT(AreaIn(plain, PieceState::kAfar), 0.01 * seen);
  EXPECT_EQ(AreaIn(plain, PieceState::kGlance), 0);
  const WallCoverage from_afar = measure(0.1, 0), at_a_glance = measure(5, 10);
  EXPECT_NEAR(AreaIn(AreasByState(from_afar), PieceState::kAfar), seen, 0.01 * seen);
  EXPECT_NEAR(AreaIn(AreasByState(at_a_glance), PieceState::kGlance), seen, 0.01 * seen);
  EXPECT_NEAR(AreaIn(AreasByState(from_afar), PieceState::kNotSeen), missed, 1e-9);
  EXPECT_NEAR(from_afar.seen, at_a_glance.seen, 1e-12);
  for (size_t i = 0; i < from_afar.stretches.size(); ++i) {
    EXPECT_NEAR(from_afar.stretches[i].afar, from_afar.stretches[i].seen, 0.05);
    EXPECT_EQ(from_afar.stretches[i].glance, 0);
    EXPECT_NEAR(at_a_glance.stretches[i].glance, at_a_glance.stretches[i].seen, 0.05);
  }
}

TEST(Coverage, WhatWasNeverInThePictureIsNotBehindAFold) {
  const TubeExam exam = Examine(RoundTube(1), false);
  const WallCoverage coverage = MeasureCoverage(exam.surface, exam.input, {.mm_per_unit = 10}, 2);
  ASSERT_EQ(coverage.spots.size(), 1U);
  const MissedSpot& spot = coverage.spots[0];
  EXPECT_FALSE(spot.behind_fold);
  EXPECT_LT(spot.along, 1.7);
  const double truth = exam.MissedArea([](const Vector3d& p) { return p.z() > 0 && p.z() < 4; });
  EXPECT_NEAR(spot.area / truth, 1, 0.15);
  ExpectTrueShares(coverage, exam, 0.03);
}

TEST(Coverage, AWholeExaminationMissesNothing) {
  const TubeExam exam = Examine(RoundTube(1), true);
  const WallCoverage coverage = MeasureCoverage(exam.surface, exam.input, {.mm_per_unit = 10}, 2);
  EXPECT_GT(coverage.seen, 0.97);
  EXPECT_LT(coverage.sigma, 0.05);
  EXPECT_TRUE(coverage.spots.empty());
}

TEST(Coverage, WithoutASurfaceOrAWayThereIsNothingToMeasure) {
  CoverageInput still;
  still.eye.camera = Camera::FromFieldOfView(60, 40, 40);
  still.frames = std::vector<CoverageFrame>(20, {0, 0, PoseOnAxis(3)});
  CoverageInput moving = still;
  for (size_t i = 0; i < moving.frames.size(); ++i)
    moving.frames[i].world_from_camera = PoseOnAxis(0.3 * static_cast<double>(i));
  const TriangleMesh tube = MakeTube(RoundTube(1), -1, 8);
  EXPECT_TRUE(MeasureCoverage({}, moving, {}, 1).ways.empty());
  TriangleMesh points;
  points.vertices = {{0, 0, 1}, {1, 0, 0}};
  EXPECT_TRUE(MeasureCoverage(points, moving, {}, 1).ways.empty());
  EXPECT_TRUE(MeasureCoverage(tube, still, {}, 1).ways.empty());
  EXPECT_TRUE(MeasureCoverage(tube, {}, {}, 1).ways.empty());
  EXPECT_TRUE(MeasureCoverageOf(tube, {}, moving, {}, 0, 1).ways.empty());
  EXPECT_TRUE(MeasureCoverageOf({}, {AxisOf(0, 5)}, moving, {}, 0, 1).ways.empty());
  // No depth maps: nothing is known to be seen.
  const WallCoverage blind = MeasureCoverage(tube, moving, {}, 1);
  ASSERT_EQ(blind.ways.size(), 1U);
  EXPECT_LT(blind.seen, 0.31);
}

TEST(Coverage, AWallsRoughnessDoesNotDecideWhatWasSeen) {
  TubeExam exam = Examine(RoundTube(1), true);
  Random random(1);
  for (Eigen::Vector3f& v : exam.wall.vertices)
    v.head<2>() *= 1 + static_cast<float>(random.Uniform(-0.03, 0.03));
  const WallCoverage coverage = MeasureCoverageOf(exam.wall, {AxisOf(0, 8)}, exam.input, {}, 0, 2);
  EXPECT_GT(coverage.seen, 0.96);
  EXPECT_TRUE(coverage.spots.empty());
}

TEST(LeastSpot, FollowsMillimetresOrTheWidth) {
  const CoverageOptions unknown{.spot_share = 0.05};
  EXPECT_NEAR(LeastSpot(unknown, 2), 0.2, 1e-12);
  const CoverageOptions known{.mm_per_unit = 10, .wide_spot_mm2 = 50, .spot_mm2 = 10};
  EXPECT_NEAR(LeastSpot(known, 2), 0.1, 1e-12) << "20 mm wide";
  EXPECT_NEAR(LeastSpot(known, 4), 0.5, 1e-12) << "40 mm wide";
}

TEST(LookoutsOf, StandAllAlongEachWay) {
  const auto places = LookoutsOf({AxisOf(0, 10), AxisOf(20, 22)}, {2, 1});
  ASSERT_EQ(places.size(), 21U + 9U);
  EXPECT_LT(places.front().norm(), 1e-5);
  EXPECT_NEAR(places[20].z(), 10, 1e-4);
  EXPECT_NEAR(places.back().z(), 22, 1e-4);
  for (size_t i = 1; i <= 20; ++i) EXPECT_NEAR(places[i].z() - places[i - 1].z(), 0.5, 1e-4);
}

// All that was seen lies ahead: nothing can be said of a wall round the way.
TEST(Coverage, WithoutAWallRoundTheWayItCannotBeTold) {
  const TriangleMesh plate = MakePlate({-20, -20, 12}, {0, 40, 0}, {40, 0, 0}, 20);
  CoverageInput input;
  std::vector<Rigid3> views;
  for (int i = 0; i < 30; ++i) {
    input.frames.push_back({i, 0.2 * i, PoseOnAxis(0.3 * i)});
    if (i % 3 == 0) views.push_back(input.frames.back().world_from_camera);
  }
  input.eye.camera = Camera::FromFieldOfView(90, 72, 72);
  input.views = RenderViews(TriangleTree(plate), input.eye.camera, views);
  EXPECT_FALSE(FindWaysThrough(TriangleTree(plate), input.frames).empty());
  EXPECT_TRUE(MeasureCoverage(plate, input, {}, 2).ways.empty());
}

}  // namespace
}  // namespace lumen
