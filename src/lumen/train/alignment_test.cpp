#include "lumen/train/alignment.h"

#include <gtest/gtest.h>

#include "lumen/factors/feature_metric_factor.h"
#include "lumen/factors/geometric_consistency_factor.h"
#include "lumen/factors/match_factors.h"
#include "lumen/factors/prior_factors.h"
#include "lumen/image/pyramid.h"
#include "lumen/train/losses.h"
#include "lumen/train/pair_batch.h"

namespace lumen {
namespace {

constexpr int kWidth = 40;
constexpr int kHeight = 32;
constexpr int kLevels = 2;
constexpr int kChannels = 16;
constexpr int kBases = 4;
constexpr int kBorder =
    4;  // the target's mask keeps away from the border, where the two read images differently

// Smooth random maps of any number of channels.
Image<float> SmoothMap(int channels, double amplitude, double offset, uint64_t seed) {
  Random random(seed);
  Image<float> map(kWidth, kHeight, channels);
  for (int c = 0; c < channels; ++c) {
    const double a = random.Uniform(0.05, 0.2);
    const double b = random.Uniform(0.05, 0.2);
    const double p = random.Uniform(0, 6);
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x)
        map(x, y, c) = static_cast<float>(offset + amplitude * std::sin(a * x + b * y + p));
    }
  }
  return map;
}

torch::Tensor ToMaps(const Image<float>& image) {
  return torch::from_blob(const_cast<float*>(image.Data()),
                          {1, image.Height(), image.Width(), image.Channels()})
      .permute({0, 3, 1, 2})
      .contiguous()
      .to(torch::kDouble);
}

// One and the same pair for both sides.
struct TestPair {
  std::shared_ptr<const View> view;
  std::shared_ptr<const Keyframe> source, target;
  std::shared_ptr<const KeyframeSamples> samples;
  std::vector<Match> matches;
  Rigid3 target_from_source = Rigid3::Exp((Vector6d() << 0.05, -0.03, 0.04, 0.02, -0.03, 0.05).finished());
  double log_scale = 0.1;
  Eigen::VectorXd code = Eigen::VectorXd::LinSpaced(kBases, -0.1, 0.15);
};

std::shared_ptr<const Keyframe> MakeTestKeyframe(const std::shared_ptr<const View>& view, uint64_t seed) {
  auto frame = std::make_shared<Frame>();
  frame->view = view;
  frame->features = MakeFeaturePyramid(SmoothMap(kChannels, 0.7, 0, seed),
                                       SmoothMap(kChannels, 0.7, 0, seed + 1), view->mask, kLevels);
  return std::make_shared<const Keyframe>(Keyframe{
      frame,
      MakeDepthBasis(SmoothMap(1, 0.2, 1.2, seed + 2), SmoothMap(kBases, 0.5, 0, seed + 3), view->mask)});
}

TestPair MakeTestPair() {
  auto view = std::make_shared<View>();
  view->camera = {30, 30, (kWidth - 1) / 2.0, (kHeight - 1) / 2.0};
  view->mask = Mask(kWidth, kHeight, 1, 0);
  for (int y = kBorder; y < kHeight - kBorder; ++y) {
    for (int x = kBorder; x < kWidth - kBorder; ++x) view->mask(x, y) = 255;
  }
  view->eroded_mask = view->mask;
  TestPair pair;
  pair.view = view;
  pair.source = MakeTestKeyframe(view, 1);
  pair.target = MakeTestKeyframe(view, 11);
  std::vector<Eigen::Vector2i> pixels;
  for (int y = kBorder; y < kHeight - kBorder; y += 3) {
    for (int x = kBorder; x < kWidth - kBorder; x += 3) pixels.emplace_back(x, y);
  }
  pair.samples = MakeKeyframeSamples(pair.source, pixels);
  for (int k = 0; k < 9; ++k) pair.matches.push_back({{8 + 2 * k, 8 + k}, {9.0 + 2 * k, 8.0 + k}, 1.0});
  return pair;
}

AlignmentProblem ToProblem(const TestPair& pair) {
  AlignmentProblem problem;
  const auto count = static_cast<int64_t>(pair.samples->pixels.size());
  const torch::Tensor camera =
      torch::tensor({pair.view->camera.fx, pair.view->camera.fy, pair.view->camera.cx, pair.view->camera.cy},
                    torch::kDouble)
          .view({1, 4});
  const torch::Tensor mask =
      torch::from_blob(const_cast<uint8_t*>(pair.view->mask.Data()), {1, 1, kHeight, kWidth}, torch::kUInt8)
          .gt(0)
          .to(torch::kDouble);
  std::vector<double> xy;
  for (const int pixel : pair.samples->pixels) {
    xy.push_back(pixel % kWidth);
    xy.push_back(pixel / kWidth);
  }
  const torch::Tensor pixels = torch::tensor(xy, torch::kDouble).view({1, count, 2});
  const torch::Tensor rays = MakeRays(camera, kWidth, kHeight).transpose(1, 2).view({1, 3, kHeight, kWidth});
  const auto features = [&](const Keyframe& keyframe) {
    Image<float> map(kWidth, kHeight, kChannels);
    const Image<float>& values = keyframe.frame->features.levels[0].values;
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) std::copy_n(values.Pixel(x, y), kChannels, map.Pixel(x, y));
    }
    return MakeFeatureLevels(ToMaps(map), mask, kLevels);
  };
  const auto source = features(*pair.source);
  problem.target_features = features(*pair.target);
  for (int l = 0; l < kLevels; ++l)
    problem.source_features.push_back(
        SampleMaps(source[static_cast<size_t>(l)].slice(1, 0, kChannels), AtLevel(pixels, l)));
  problem.average = SampleMaps(ToMaps(pair.source->depth.average), pixels).squeeze(2);
  problem.bases = SampleMaps(ToMaps(pair.source->depth.bases), pixels);
  problem.rays = SampleMaps(rays, pixels);
  problem.weight = torch::ones({1, count}, torch::kDouble);
  problem.camera = camera;
  problem.target_mask = mask;
  problem.target_known = torch::ones_like(mask);
  problem.target_depth = WithGradients(ToMaps(pair.target->depth.average), mask);
  std::vector<double> from, to;
  for (const Match& match : pair.matches) {
    from.insert(from.end(), {static_cast<double>(match.source.x()), static_cast<double>(match.source.y())});
    to.insert(to.end(), {match.target.x(), match.target.y()});
  }
  const auto matches = static_cast<int64_t>(pair.matches.size());
  const torch::Tensor keypoints = torch::tensor(from, torch::kDouble).view({1, matches, 2});
  const torch::Tensor places = torch::tensor(to, torch::kDouble).view({1, matches, 2});
  problem.match_average = SampleMaps(ToMaps(pair.source->depth.average), keypoints).squeeze(2);
  problem.match_bases = SampleMaps(ToMaps(pair.source->depth.bases), keypoints);
  problem.match_rays = SampleMaps(rays, keypoints);
  problem.match_points = SampleMaps(ToMaps(pair.target->depth.average), places) * SampleMaps(rays, places);
  problem.match_pixels = places;
  problem.match_weight = torch::ones({1, matches}, torch::kDouble);
  problem.mean_square = torch::full({1}, static_cast<double>(pair.source->depth.mean_square), torch::kDouble);
  problem.scale_goal = torch::zeros({1}, torch::kDouble);
  return problem;
}

AlignmentState ToState(const TestPair& pair) {
  AlignmentState state;
  const Eigen::Matrix<double, 3, 3, Eigen::RowMajor> R = pair.target_from_source.RotationMatrix();
  state.rotation = torch::from_blob(const_cast<double*>(R.data()), {1, 3, 3}, torch::kDouble).clone();
  const Eigen::Vector3d t = pair.target_from_source.Translation();
  state.translation = torch::from_blob(const_cast<double*>(t.data()), {1, 3}, torch::kDouble).clone();
  state.log_scale = torch::full({1}, pair.log_scale, torch::kDouble);
  state.code = torch::from_blob(const_cast<double*>(pair.code.data()), {1, kBases}, torch::kDouble).clone();
  return state;
}

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
void ExpectSame(const AlignmentOptions& options, const std::vector<FactorPtr>& factors) {
  const TestPair pair = MakeTestPair();
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

TEST(Alignment, FeatureMetricFactorIsTheFactorsRoomsOwn) {
  const TestPair pair = MakeTestPair();
  FeatureMetricOptions options;
  options.level_weights = {10, 9};
  options.plain = true;
  ExpectSame(TestOptions(), {std::make_shared<FeatureMetricFactor>(TestVariables(pair), pair.samples,
                                                                   pair.target->frame, options)});
}

TEST(Alignment, RobustFeatureMetricInItsOwnVarianceIsTheFactorsRoomsOwn) {
  const TestPair pair = MakeTestPair();
  FeatureMetricOptions options;
  options.level_weights = {10, 9};
  options.plain = true;
  options.robust = 0.05;
  options.relative = true;
  AlignmentOptions own = TestOptions();
  own.robust = 0.05;
  own.relative = true;
  ExpectSame(own, {std::make_shared<FeatureMetricFactor>(TestVariables(pair), pair.samples,
                                                         pair.target->frame, options)});
}

TEST(Alignment, GeometricConsistencyFactorIsTheFactorsRoomsOwn) {
  const TestPair pair = MakeTestPair();
  AlignmentOptions options = TestOptions();
  options.level_weights = {1e-12, 1e-12};
  options.geometry_weight = 0.1;
  GeometricConsistencyOptions other;
  other.plain = true;
  ExpectSame(options, {std::make_shared<GeometricConsistencyFactor>(TestVariables(pair), pair.samples,
                                                                    pair.target, other)});
}

TEST(Alignment, MatchedGeometryFactorIsTheFactorsRoomsOwn) {
  const TestPair pair = MakeTestPair();
  AlignmentOptions options = TestOptions();
  options.level_weights = {1e-12, 1e-12};
  options.matched_weight = 0.1;
  ExpectSame(options, {std::make_shared<MatchedGeometryFactor>(TestVariables(pair), pair.source, pair.target,
                                                               pair.matches)});
}

TEST(Alignment, ReprojectionFactorIsTheFactorsRoomsOwn) {
  const TestPair pair = MakeTestPair();
  AlignmentOptions options = TestOptions();
  options.level_weights = {1e-12, 1e-12};
  options.reprojection_weight = 0.1;
  ExpectSame(options, {std::make_shared<ReprojectionFactor>(TestVariables(pair), pair.source, pair.view,
                                                            pair.matches)});
}

TEST(Alignment, PriorsAreTheFactorsRoomsOwn) {
  AlignmentOptions options = TestOptions();
  options.level_weights = {1e-12, 1e-12};
  options.scale_prior_weight = 0.3;
  options.code_prior_weight = 0.7;
  ExpectSame(options, {std::make_shared<ScaleFactor>(LogScaleKey(0), 0.0, 0.3),
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

AlignmentOptions WholeOptions() {
  AlignmentOptions options;
  options.level_weights = {10, 9};
  options.iterations = 4;
  options.code_prior_weight = 1e-2;
  return options;
}

// A number that depends on everything the alignment ends with.
torch::Tensor Outcome(const AlignmentProblem& problem, const AlignmentState& start,
                      const AlignmentOptions& options) {
  const AlignmentState end = AlignPairs(problem, start, options).state;
  return end.rotation.select(2, 1).sum() + 2 * end.translation.sum() + end.log_scale.sum() +
         (end.code * torch::arange(1, kBases + 1, torch::kDouble)).sum();
}

TEST(Alignment, GradientOfTheWholeSolveMatchesFiniteDifferences) {
  const TestPair pair = MakeTestPair();
  const AlignmentState start = ToState(pair);
  const AlignmentOptions options = WholeOptions();
  const auto check = [&](torch::Tensor AlignmentProblem::*field, int64_t where) {
    AlignmentProblem problem = ToProblem(pair);
    (problem.*field).set_requires_grad(true);
    Outcome(problem, start, options).backward();
    const double analytic = (problem.*field).grad().flatten()[where].item<double>();
    torch::NoGradGuard no_grad;
    const auto at = [&](double shift) {
      AlignmentProblem moved = ToProblem(pair);
      moved.*field = (moved.*field).contiguous();
      (moved.*field).view({-1})[where] += shift;
      return Outcome(moved, start, options).item<double>();
    };
    constexpr double kStep = 1e-6;
    const double numeric = (at(kStep) - at(-kStep)) / (2 * kStep);
    EXPECT_NEAR(analytic, numeric, 1e-3 * std::max(1e-4, std::abs(numeric))) << where;
    EXPECT_NE(numeric, 0);
  };
  check(&AlignmentProblem::average, 40);
  check(&AlignmentProblem::bases, 161);
  check(&AlignmentProblem::match_average, 3);
  check(&AlignmentProblem::match_bases, 10);
  // Features are lists of levels.
  for (const bool of_target : {false, true}) {
    for (const int64_t where : {int64_t{700}, int64_t{1000}}) {
      AlignmentProblem problem = ToProblem(pair);
      torch::Tensor& level = of_target ? problem.target_features[0] : problem.source_features[0];
      level.set_requires_grad(true);
      Outcome(problem, start, options).backward();
      const double analytic = level.grad().flatten()[where].item<double>();
      torch::NoGradGuard no_grad;
      const auto at = [&](double shift) {
        AlignmentProblem moved = ToProblem(pair);
        torch::Tensor& map = of_target ? moved.target_features[0] : moved.source_features[0];
        map = map.contiguous();
        map.view({-1})[where] += shift;
        return Outcome(moved, start, options).item<double>();
      };
      const double numeric = (at(1e-6) - at(-1e-6)) / 2e-6;
      EXPECT_NEAR(analytic, numeric, 1e-3 * std::max(1e-4, std::abs(numeric))) << of_target << " " << where;
    }
  }
}

TEST(Alignment, CheckpointingChangesNoGradient) {
  const TestPair pair = MakeTestPair();
  std::vector<torch::Tensor> gradients;
  for (const bool checkpointing : {false, true}) {
    AlignmentOptions options = WholeOptions();
    options.checkpointing = checkpointing;
    AlignmentProblem problem = ToProblem(pair);
    problem.average.set_requires_grad(true);
    problem.target_features[1].set_requires_grad(true);
    const torch::Tensor outcome = Outcome(problem, ToState(pair), options);
    outcome.backward();
    gradients.push_back(
        torch::cat({problem.average.grad().flatten(), problem.target_features[1].grad().flatten(),
                    outcome.detach().view({1})}));
  }
  EXPECT_LT((gradients[0] - gradients[1]).abs().max().item<double>(),
            1e-10 * gradients[0].abs().max().item<double>());
  EXPECT_GT(gradients[0].abs().max().item<double>(), 0);
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
