#include "lumen/train/alignment.h"

#include <gtest/gtest.h>

#include "lumen/base/random.h"
#include "lumen/factors/geometric_consistency_factor.h"
#include "lumen/factors/prior_factors.h"
#include "lumen/train/alignment_test_pair.h"
#include "lumen/train/lens.h"

namespace lumen {
namespace {

AlignmentOptions TestOptions() {
  AlignmentOptions options;
  options.level_weights = {10, 9};
  options.robust = 0;
  options.relative = options.relative_code = false;
  options.geometry_weight = options.matched_weight = options.scale_prior_weight = options.code_prior_weight =
      0;
  return options;
}

// The same factor on both sides: error, gradient and Hessian in the order pose, log-scale, code.
void ExpectSame(const TestPair& pair, const AlignmentOptions& options,
                const std::vector<FactorPtr>& factors) {
  const AlignmentSystem system = LinearizeAlignment(ToProblem(pair), ToState(pair), options);
  Values values;
  values.Insert(PoseKey(0), pair.target_from_source);
  values.Insert(LogScaleKey(0), pair.log_scale);
  values.Insert(CodeKey(0), pair.code);
  const std::vector<Key> keys = {PoseKey(0), LogScaleKey(0), CodeKey(0)};
  const std::vector<int> sizes = {6, 1, kBases};
  Eigen::MatrixXd H = Eigen::MatrixXd::Zero(7 + kBases, 7 + kBases);
  Eigen::VectorXd b = Eigen::VectorXd::Zero(7 + kBases);
  double error = 0;
  for (const FactorPtr& factor : factors) {
    const NormalBlock block = factor->Linearize(values);
    error += block.error;
    const std::vector<Key> own = factor->Keys();
    const auto has = [&](const Key& key) { return std::find(own.begin(), own.end(), key) != own.end(); };
    int row = 0;
    for (size_t i = 0; i < keys.size(); row += sizes[i++]) {
      if (!has(keys[i])) continue;
      b.segment(row, sizes[i]) += block.Gradient(keys[i]);
      int column = 0;
      for (size_t j = 0; j < keys.size(); column += sizes[j++]) {
        if (has(keys[j])) H.block(row, column, sizes[i], sizes[j]) += block.Hessian(keys[i], keys[j]);
      }
    }
  }
  EXPECT_NEAR(system.error.item<double>(), error, 1e-6 * std::max(1.0, std::abs(error)));
  const double scale = H.cwiseAbs().maxCoeff();
  for (int i = 0; i < 7 + kBases; ++i) {
    EXPECT_NEAR(system.b[0][i].item<double>(), b[i], 2e-6 * b.cwiseAbs().maxCoeff()) << "gradient " << i;
    for (int j = 0; j < 7 + kBases; ++j)
      EXPECT_NEAR(system.H[0][i][j].item<double>(), H(i, j), 2e-6 * scale) << "Hessian " << i << " " << j;
  }
}

PairVariables TestVariables(const TestPair& pair) {
  DepthVariables source = DepthVariables::Fixed(pair.log_scale, pair.code);
  source.log_scale_key = LogScaleKey(0);
  source.code_key = CodeKey(0);
  return PairVariables::Relative(PoseKey(0), source, DepthVariables::Fixed(0, Eigen::VectorXd::Zero(kBases)));
}

// Through a pinhole and through a fisheye.
class AlignmentLens : public testing::TestWithParam<double> {};
INSTANTIATE_TEST_SUITE_P(Both, AlignmentLens, testing::Values(0.0, 0.6));

TEST_P(AlignmentLens, FeatureMetricFactorIsTheFactorsRoomsOwn) {
  const TestPair pair = MakeTestPair(GetParam());
  FeatureMetricOptions options;
  options.level_weights = {10, 9};
  options.plain = true;
  ExpectSame(pair, TestOptions(),
             {std::make_shared<FeatureMetricFactor>(TestVariables(pair), pair.samples, pair.target->frame,
                                                    options)});
}

TEST_P(AlignmentLens, RobustFeatureMetricInItsOwnVarianceIsTheFactorsRoomsOwn) {
  const TestPair pair = MakeTestPair(GetParam());
  FeatureMetricOptions options;
  options.level_weights = {10, 9};
  options.plain = true;
  options.robust = 0.05;
  options.relative = true;
  AlignmentOptions own = TestOptions();
  own.robust = 0.05;
  own.relative = true;
  ExpectSame(pair, own,
             {std::make_shared<FeatureMetricFactor>(TestVariables(pair), pair.samples, pair.target->frame,
                                                    options)});
}

TEST_P(AlignmentLens, GeometricConsistencyFactorIsTheFactorsRoomsOwn) {
  const TestPair pair = MakeTestPair(GetParam());
  AlignmentOptions options = TestOptions();
  options.level_weights = {1e-12, 1e-12};
  options.geometry_weight = 0.1;
  GeometricConsistencyOptions other;
  other.plain = true;
  ExpectSame(
      pair, options,
      {std::make_shared<GeometricConsistencyFactor>(TestVariables(pair), pair.samples, pair.target, other)});
}

TEST_P(AlignmentLens, MatchedGeometryFactorIsTheFactorsRoomsOwn) {
  const TestPair pair = MakeTestPair(GetParam());
  AlignmentOptions options = TestOptions();
  options.level_weights = {1e-12, 1e-12};
  options.matched_weight = 0.1;
  ExpectSame(
      pair, options,
      {std::make_shared<MatchedGeometryFactor>(TestVariables(pair), pair.source, pair.target, pair.matches)});
}

TEST_P(AlignmentLens, ReprojectionFactorIsTheFactorsRoomsOwn) {
  const TestPair pair = MakeTestPair(GetParam());
  AlignmentOptions options = TestOptions();
  options.level_weights = {1e-12, 1e-12};
  options.reprojection_weight = 0.1;
  ExpectSame(
      pair, options,
      {std::make_shared<ReprojectionFactor>(TestVariables(pair), pair.source, pair.view, pair.matches)});
}

TEST(Lens, IsTheGeometryRoomsOwn) {
  Random random(3);
  for (const double alpha : {0.0, 0.3, 0.62}) {
    const UnifiedCamera camera{31, 30, 19.3, 15.8, alpha};
    const torch::Tensor batch =
        torch::tensor({camera.fx, camera.fy, camera.cx, camera.cy, camera.alpha}, torch::kDouble)
            .view({1, 5});
    const torch::Tensor rays = MakeRays(batch, 40, 32);
    const torch::Tensor angles = MakeAngles(batch, 80, 64);
    for (int y = 0; y < 32; y += 5) {
      for (int x = 0; x < 40; x += 5) {
        const Eigen::Vector3d ray = camera.RayAtUnitDepth(x, y);
        for (int k = 0; k < 3; ++k) EXPECT_NEAR(rays[0][y * 40 + x][k].item<double>(), ray[k], 1e-12);
        const Eigen::Vector3d fine = *camera.Scaled(2, 2).Unproject({2 * x, 2 * y});
        EXPECT_NEAR(angles[0][0][2 * y][2 * x].item<double>(), std::atan2(fine.head<2>().norm(), fine.z()),
                    1e-9);
      }
    }
    for (int i = 0; i < 20; ++i) {
      const Eigen::Vector3d x{random.Uniform(-1, 1), random.Uniform(-1, 1), random.Uniform(0.2, 2)};
      const torch::Tensor point = torch::tensor({x.x(), x.y(), x.z()}, torch::kDouble).view({1, 1, 3});
      EXPECT_NEAR(DepthOfPoints(batch, point).item<double>(), camera.Depth(x), 1e-9);
      EXPECT_NEAR(FrontOfPoints(batch, point).item<double>(),
                  alpha > 0 ? x.z() + camera.Reach() * x.norm() : x.z(), 1e-9);
      for (int k = 0; k < 3; ++k)
        EXPECT_NEAR(DepthByPoints(batch, point)[0][0][k].item<double>(), camera.DepthJacobian(x)[k], 1e-9);
      for (int k = 0; k < 2; ++k)
        EXPECT_NEAR(ProjectPoints(batch, point)[0][0][k].item<double>(), (*camera.Project(x))[k], 1e-7);
    }
  }
}

TEST(Alignment, PriorsAreTheFactorsRoomsOwn) {
  AlignmentOptions options = TestOptions();
  options.level_weights = {1e-12, 1e-12};
  options.scale_prior_weight = 0.3;
  options.code_prior_weight = 0.7;
  ExpectSame(MakeTestPair(), options,
             {std::make_shared<ScaleFactor>(LogScaleKey(0), 0.0, 0.3),
              std::make_shared<CodeFactor>(CodeKey(0), Eigen::VectorXd::Zero(kBases), 0.7)});
}

TEST(Alignment, ACodeThatIsHeldStaysAndTheRestIsTheSameSystem) {
  const TestPair pair = MakeTestPair();
  AlignmentOptions options;
  options.level_weights = {10, 9};
  const AlignmentSystem whole = LinearizeAlignment(ToProblem(pair), ToState(pair), options);
  options.code_is_free = false;
  const AlignmentSystem held = LinearizeAlignment(ToProblem(pair), ToState(pair), options);
  ASSERT_EQ(held.b.size(1), 7);
  EXPECT_LT((whole.H.slice(1, 0, 7).slice(2, 0, 7) - held.H).abs().max().item<double>(), 1e-12);
  EXPECT_LT((whole.b.slice(1, 0, 7) - held.b).abs().max().item<double>(), 1e-12);
  torch::NoGradGuard no_grad;
  const AlignmentResult result = AlignPairs(ToProblem(pair), ToState(pair), options);
  EXPECT_EQ((result.state.code - ToState(pair).code).abs().max().item<double>(), 0);
  EXPECT_GT(result.accepted.item<double>(), 0);
}

TEST(Alignment, FeaturesAndBasesMayBeOfAnySize) {
  const TestPair pair = MakeTestPair();
  torch::NoGradGuard no_grad;
  AlignmentOptions options;
  options.level_weights = {10, 9};
  const AlignmentProblem problem = ToProblem(pair);
  AlignmentProblem louder = problem;
  for (auto* levels : {&louder.source_features, &louder.target_features}) {
    for (torch::Tensor& level : *levels) level = 7 * level;
  }
  louder.bases = 3 * problem.bases;
  louder.match_bases = 3 * problem.match_bases;
  AlignmentState start = ToState(pair);
  start.code.zero_();
  const AlignmentState a = AlignPairs(problem, start, options).state;
  const AlignmentState b = AlignPairs(louder, start, options).state;
  EXPECT_LT((a.translation - b.translation).abs().max().item<double>(), 1e-6);
  EXPECT_LT((a.code - 3 * b.code).abs().max().item<double>(), 1e-6);
  EXPECT_GT(a.code.abs().max().item<double>(), 1e-3);
}

TEST(Alignment, RetractsAsRigid3Does) {
  const TestPair pair = MakeTestPair();
  Vector6d step;
  step << 0.1, -0.2, 0.3, 0.4, 0.1, -0.5;
  torch::Tensor whole = torch::zeros({1, 7 + kBases}, torch::kDouble);
  for (int k = 0; k < 6; ++k) whole[0][k] = step[k];
  const AlignmentState moved = RetractState(ToState(pair), whole);
  const Rigid3 expected = pair.target_from_source.Retract(step);
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(moved.translation[0][i].item<double>(), expected.Translation()[i], 1e-12);
    for (int j = 0; j < 3; ++j)
      EXPECT_NEAR(moved.rotation[0][i][j].item<double>(), expected.RotationMatrix()(i, j), 1e-12);
  }
}

TEST(Alignment, FindsAKnownMotion) {
  // The target is the source seen from the same place: the answer is the identity.
  TestPair pair = MakeTestPair();
  pair.target = pair.source;
  pair.matches.clear();
  for (int k = 0; k < 9; ++k) pair.matches.push_back({{8 + 2 * k, 8 + k}, {8.0 + 2 * k, 8.0 + k}, 1.0});
  pair.log_scale = 0.05;
  pair.code.setZero();
  AlignmentOptions options = WholeOptions();
  options.iterations = 20;
  torch::NoGradGuard no_grad;
  const AlignmentResult result = AlignPairs(ToProblem(pair), ToState(pair), options);
  EXPECT_LT(result.state.translation.abs().max().item<double>(), 2e-3);
  EXPECT_LT((result.state.rotation - torch::eye(3, torch::kDouble)).abs().max().item<double>(), 2e-3);
  EXPECT_LT(result.final_error.item<double>(), 1e-3 * result.initial_error.item<double>());
}

TEST(Alignment, PairsSideBySideDoNotDisturbEachOther) {
  const TestPair pair = MakeTestPair();
  const AlignmentProblem one = ToProblem(pair);
  AlignmentState start = ToState(pair);
  const AlignmentOptions options = WholeOptions();
  torch::NoGradGuard no_grad;
  const auto twice = [](const torch::Tensor& tensor) { return torch::cat({tensor, tensor}); };
  AlignmentProblem two = one;
  for (torch::Tensor* tensor :
       {&two.average, &two.bases, &two.match_average, &two.match_bases, &two.rays, &two.weight, &two.camera,
        &two.target_mask, &two.target_depth, &two.target_known, &two.match_rays, &two.match_points,
        &two.match_pixels, &two.match_weight, &two.mean_square, &two.scale_goal})
    *tensor = twice(*tensor);
  for (auto* levels : {&two.source_features, &two.target_features}) {
    for (torch::Tensor& level : *levels) level = twice(level);
  }
  AlignmentState both{twice(start.rotation), twice(start.translation), twice(start.log_scale),
                      twice(start.code)};
  both.translation[1] += 0.1;  // the second starts elsewhere
  const AlignmentResult alone = AlignPairs(one, start, options);
  const AlignmentResult together = AlignPairs(two, both, options);
  EXPECT_LT((alone.state.translation[0] - together.state.translation[0]).abs().max().item<double>(), 1e-9);
  EXPECT_LT((alone.state.code[0] - together.state.code[0]).abs().max().item<double>(), 1e-9);
}

}  // namespace
}  // namespace lumen
