// Fitting the networks to a scope: the points that teach, the verdict, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lumen/apps/adapting.h"
#include "lumen/apps/triangulating.h"
#include "lumen/base/random.h"
#include "lumen/base/text.h"
#include "tests/command.h"

namespace lumen {
namespace {

const UnifiedCamera kCamera(45, 45, 39.5, 31.5, 0.3);

// Views of a point from around, as matches of the pixel that sees it; `spoilt` of them are wrong.
std::vector<RayMatch> Look(const Eigen::Vector2d& pixel, double depth, int views, int spoilt, double noise,
                           double spread = 0.3) {
  Random random(7);
  std::vector<RayMatch> matches;
  const Eigen::Vector3d point = depth * kCamera.RayAtUnitDepth(pixel.x(), pixel.y());
  for (int i = 0; i < views; ++i) {
    const double angle = 2.4 * i;
    const Rigid3 motion(ExpSO3({0.02 * i, -0.01 * i, 0.03}),
                        {spread * std::cos(angle), spread * std::sin(angle), 0.1 * spread});
    Eigen::Vector2d seen = *kCamera.Project(motion * point);
    seen.x() += noise * random.Normal();
    seen.y() += noise * random.Normal();
    if (i < spoilt) seen += Eigen::Vector2d(9, -6);
    matches.push_back({motion, seen});
  }
  return matches;
}

TEST(Triangulation, FindsWhereTheRaysMeet) {
  for (const double depth : {0.8, 2.0, 5.0}) {
    const auto found =
        TriangulateRay(kCamera, {50, 20}, Look({50, 20}, depth, 8, 0, 0), 2, {.most_uncertain = 0.5});
    ASSERT_TRUE(found) << depth;
    EXPECT_NEAR(found->depth, depth, 1e-6 * depth);
    EXPECT_EQ(found->views, 8);
  }
}

TEST(Triangulation, WrongMatchesDoNotMoveIt) {
  const auto found = TriangulateRay(kCamera, {30, 40}, Look({30, 40}, 1.7, 9, 3, 0.1), 2, {});
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->depth, 1.7, 0.03);
  EXPECT_EQ(found->views, 6);
  EXPECT_FALSE(TriangulateRay(kCamera, {30, 40}, Look({30, 40}, 1.7, 9, 5, 0.1), 2, {})) << "most are wrong";
  EXPECT_FALSE(TriangulateRay(kCamera, {30, 40}, Look({30, 40}, 1.7, 3, 0, 0), 2, {})) << "too few";
}

TEST(Triangulation, RaysThatHardlyCrossSayNothing) {
  EXPECT_FALSE(TriangulateRay(kCamera, {30, 40}, Look({30, 40}, 2, 8, 0, 0.1, 0.005), 2, {}));
}

TEST(Adapting, BlendedWeightsLieBetween) {
  const Model from = MakeRandomModel(1), to = MakeRandomModel(2);
  const Model blended = BlendModels(from, to, 0.25);
  const auto& [name, tensor] = *blended.tensors.begin();
  for (size_t i = 0; i < tensor.values.size(); ++i)
    EXPECT_NEAR(tensor.values[i],
                0.75F * from.tensors.at(name).values[i] + 0.25F * to.tensors.at(name).values[i], 1e-6);
}

TEST(Adapting, OnlyWhatIsBetterIsWritten) {
  const auto exam = [](double depth, double points, double epipolar, std::optional<double> backwards) {
    return Exam{depth, points, epipolar, backwards};
  };
  const Exam before = exam(0.1, 0.1, 0.9, 1.0);
  EXPECT_EQ(WhyNoBetter(before, exam(0.09, 0.09, 0.9, 1.0)), "");
  EXPECT_NE(WhyNoBetter(before, exam(0.05, 0.099, 0.95, 0.5)), "") << "agrees with itself, and is as wrong";
  EXPECT_NE(WhyNoBetter(before, exam(0.101, 0.08, 0.95, 0.5)), "");
  EXPECT_NE(WhyNoBetter(before, exam(0.08, 0.08, 0.88, 1.0)), "");
  EXPECT_NE(WhyNoBetter(before, exam(0.08, 0.08, 0.9, 1.5)), "");
  EXPECT_NE(WhyNoBetter(before, exam(0.08, 0.08, 0.9, std::nullopt)), "");
  EXPECT_NE(WhyNoBetter(before, exam(NAN, 0.08, 0.9, 1.0)), "");
  EXPECT_NE(WhyNoBetter(before, exam(0.08, NAN, 0.9, 1.0)), "");
  // Where there are no points, depth must agree better by more than chance.
  const Exam blind{0.1, std::nullopt, 0.9, std::nullopt};
  EXPECT_EQ(WhyNoBetter(blind, {0.08, std::nullopt, 0.9, std::nullopt}), "");
  EXPECT_NE(WhyNoBetter(blind, {0.099, std::nullopt, 0.9, std::nullopt}), "");
}

class AdaptCli : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return (folder_.Path() / name).string(); }
  void ExpectFault(const std::string& arguments, const std::string& text) const {
    const CommandResult result = RunCommand("lumen -q adapt " + arguments);
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_FALSE(std::filesystem::exists(Path("my.safetensors")));
  }
  TemporaryFolder folder_;
};

TEST_F(AdaptCli, SaysWhatIsMissing) {
  const std::string out = " --out " + Path("my.safetensors");
  ExpectFault(Path("nothing.mp4") + out, "no such file or folder");
  ExpectFault(Path("nothing.mp4") + " --out " + Path("my.model"), "ends in .safetensors");
  std::filesystem::create_directories(Path("old"));
  WriteFileAtomically(Path("old/file"), "");
  ExpectFault(Path("nothing.mp4") + out + " --work " + Path("old"), "not an empty folder");
  ASSERT_EQ(RunCommand(StrCat("lumen -q simulate ", Path("short"),
                              " --anatomy colon --seed 956 --frames 20 --size 160x128 --no-model"))
                .code,
            0);
  ExpectFault(Path("short") + out, "too little video to adapt to");
}

}  // namespace
}  // namespace lumen
