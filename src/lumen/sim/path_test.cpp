#include "lumen/sim/path.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lumen/base/error.h"
#include "lumen/sim/sim_test_scene.h"
#include "lumen/sim/suite.h"

namespace lumen {
namespace {

std::vector<TestSubject> SuiteSubjects() {
  std::vector<TestSubject> subjects;
  for (const SuiteSubject& subject : kBenchmarkSuite) subjects.push_back({subject.anatomy, subject.seed});
  return subjects;
}

class SuitePaths : public testing::TestWithParam<TestSubject> {};
INSTANTIATE_TEST_SUITE_P(Sim, SuitePaths, testing::ValuesIn(SuiteSubjects()),
                         [](const auto& test) { return NameOf(test.param); });

// Against the exported surface, not only the distance field the path was made with.
void ExpectClearOfTheWall(const Anatomy& anatomy, const std::vector<Rigid3>& path) {
  const TriangleMesh mesh = ExportSurface(anatomy);
  for (size_t k = 0; k < path.size(); ++k) {
    const Eigen::Vector3f eye = path[k].Translation().cast<float>();
    ASSERT_GE(anatomy.Distance(eye), anatomy.Clearance()) << "frame " << k;
    float nearest = 1e9F;
    for (const Eigen::Vector3f& vertex : mesh.vertices)
      nearest = std::min(nearest, (vertex - eye).squaredNorm());
    ASSERT_GE(std::sqrt(nearest), anatomy.Clearance()) << "frame " << k;
  }
}

void ExpectInAndBack(const std::vector<Rigid3>& path) {
  const Eigen::Vector3d start = path.front().Translation();
  const double away = (path[path.size() / 2].Translation() - start).norm();
  EXPECT_GT(away, 15);
  EXPECT_LT((path.back().Translation() - start).norm(), 0.2 * away);
}

void ExpectAHandsMotion(AnatomyKind kind, const std::vector<Rigid3>& path) {
  const PathStatistics moved = ComputePathStatistics(path);
  if (kind == AnatomyKind::kNasal) {
    // Measured on a tracked scope: median 0.16–0.20 mm and 0.06°, 95th percentile 0.35–0.44 mm and 0.2°.
    EXPECT_NEAR(moved.median_mm, 0.18, 0.02);
    EXPECT_NEAR(moved.p95_mm, 0.36, 0.1);
    EXPECT_NEAR(moved.median_deg, 0.07, 0.03);
    EXPECT_NEAR(moved.p95_deg, 0.18, 0.06);
  } else {
    EXPECT_GT(moved.median_mm, 0.2);
    EXPECT_LT(moved.p95_mm, 1.6);
    EXPECT_LT(moved.p95_deg, 1.0);
  }
}

TEST_P(SuitePaths, KeepClearOfTheWallGoInAndBackAsAHandDoes) {
  const auto anatomy = SharedAnatomy(GetParam().kind, GetParam().seed);
  const PathOptions options = MakeSuiteOptions({"", GetParam().kind, GetParam().seed}).path;
  const std::vector<Rigid3> path = MakePath(*anatomy, options);
  ASSERT_GE(path.size(), 300U);
  ExpectClearOfTheWall(*anatomy, path);
  ExpectInAndBack(path);
  ExpectAHandsMotion(GetParam().kind, path);
}

TEST(Path, KindsDifferAsTheirNamesSay) {
  const auto anatomy = SharedAnatomy(AnatomyKind::kColon, 2);
  const auto reach = [&](PathKind kind, int at) {
    PathOptions options;
    options.kind = kind;
    const std::vector<Rigid3> path = MakePath(*anatomy, options);
    return (path[static_cast<size_t>(at)].Translation() - path.front().Translation()).norm();
  };
  EXPECT_GT(reach(PathKind::kInsertion, 299), 100);
  EXPECT_LT(reach(PathKind::kInsertionRetreat, 299), 15);
  EXPECT_LT(reach(PathKind::kHover, 299), 60);
  EXPECT_GT(reach(PathKind::kExplore, 299), 50);
  EXPECT_GT(reach(PathKind::kRevisit, 90), 30);
  EXPECT_LT(reach(PathKind::kRevisit, 160), 25);
  EXPECT_GT(reach(PathKind::kRevisit, 255), 30);
}

TEST(Path, EveryKindKeepsClear) {
  const auto anatomy = SharedAnatomy(AnatomyKind::kNasal, 3);
  for (const std::string& name : PathNames()) {
    PathOptions options;
    options.kind = ParsePathKind(name);
    options.frames = 900;
    for (int route = 0; route < 3; ++route) {
      options.route = route;
      for (const Rigid3& pose : MakePath(*anatomy, options)) {
        ASSERT_GE(anatomy->Distance(pose.Translation().cast<float>()), anatomy->Clearance())
            << name << " " << route;
      }
    }
  }
}

TEST(Path, LongPathsGoInAndOutMoreThanOnce) {
  const auto anatomy = SharedAnatomy(AnatomyKind::kNasal, 3);
  PathOptions options;
  options.frames = 2500;
  const PathStatistics moved = ComputePathStatistics(MakePath(*anatomy, options));
  EXPECT_GT(moved.length_mm, 3 * anatomy->Routes().front().Length());
  EXPECT_NEAR(moved.median_mm, 0.18, 0.03);
}

TEST(Path, FollowsSpeedAndFrameRate) {
  const auto anatomy = SharedAnatomy(AnatomyKind::kColon, 2);
  PathOptions options;
  options.speed = 0.3;
  EXPECT_NEAR(ComputePathStatistics(MakePath(*anatomy, options)).median_mm, 0.3, 0.05);
  options.fps = 60;
  options.frames = 600;
  EXPECT_NEAR(ComputePathStatistics(MakePath(*anatomy, options)).median_mm, 0.15, 0.03);
}

TEST(Path, IsReproducibleAndVariesWithItsSeed) {
  const auto anatomy = SharedAnatomy(AnatomyKind::kBronchus, 2);
  PathOptions options;
  const auto first = MakePath(*anatomy, options);
  const auto again = MakePath(*anatomy, options);
  options.seed = 1;
  const auto other = MakePath(*anatomy, options);
  EXPECT_EQ(first[150].Matrix(), again[150].Matrix());
  EXPECT_NE(first[150].Matrix(), other[150].Matrix());
}

TEST(Path, OfOneFrameStandsStill) {
  PathOptions options;
  options.frames = 1;
  for (const std::string& name : PathNames()) {
    options.kind = ParsePathKind(name);
    EXPECT_EQ(MakePath(*SharedAnatomy(AnatomyKind::kBronchus, 2), options).size(), 1U);
  }
}

TEST(Path, RefusesNonsense) {
  const auto anatomy = SharedAnatomy(AnatomyKind::kBronchus, 2);
  const auto refuse = [&](const PathOptions& options) {
    EXPECT_THROW(MakePath(*anatomy, options), InputError);
  };
  refuse({.frames = 0});
  refuse({.frames = -3});
  refuse({.fps = 0});
  refuse({.fps = NAN});
  refuse({.speed = -1});
  refuse({.loops = 0});
  refuse({.route = -1});
  EXPECT_THROW(ParsePathKind("inserton"), InputError);
}

}  // namespace
}  // namespace lumen
