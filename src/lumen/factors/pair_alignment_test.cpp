#include "lumen/factors/pair_alignment.h"

#include <gtest/gtest.h>

#include "lumen/base/error.h"
#include "lumen/factors/pair_scene_test.h"

namespace lumen {
namespace {

constexpr double kDegree = M_PI / 180;
constexpr double kBaseline = 0.12;

PairAlignmentProblem MakeProblem(const PairScene& scene, int matches, uint64_t seed) {
  Random random(seed);
  PairAlignmentProblem problem;
  problem.source = scene.samples;
  problem.target = scene.target->frame;
  problem.matches = MakeTrueMatches(scene, matches, random);
  problem.source_log_scale = scene.source_state.log_scale;
  problem.source_code = scene.source_state.code;
  problem.target_keyframe = scene.target;
  problem.target_log_scale = scene.target_state.log_scale;
  problem.target_code = scene.target_state.code;
  return problem;
}

// The bars: 5e-3 of the baseline and 0.05°.
void ExpectTruePose(const PairAlignmentResult& result, const PairScene& scene, uint64_t seed) {
  EXPECT_EQ(result.status, PairAlignmentStatus::kConverged) << result.reason << ", seed " << seed;
  const Rigid3 truth = scene.TargetFromSource();
  EXPECT_LT((result.target_from_source.Translation() - truth.Translation()).norm(), 5e-3 * kBaseline) << seed;
  EXPECT_LT(RotationAngle(result.target_from_source.Rotation(), truth.Rotation()), 0.05 * kDegree) << seed;
}

TEST(FactorPairAlignment, RecoversThePoseFromFeaturesAndReprojection) {
  for (uint64_t seed = 1; seed <= 15; ++seed) {
    const PairScene scene = MakeCavityScene({.seed = seed});
    const auto result = AlignPair(MakeProblem(scene, 128, seed), Rigid3());
    ExpectTruePose(result, scene, seed);
    EXPECT_GT(result.overlap, 0.9);
    EXPECT_LT(result.solver.iterations + result.finest_solver.iterations, 15);
  }
}

TEST(FactorPairAlignment, RecoversThePoseFromFeaturesAlone) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const PairScene scene = MakeCavityScene({.seed = seed});
    ExpectTruePose(AlignPair(MakeProblem(scene, 0, seed), Rigid3()), scene, seed);
  }
}

TEST(FactorPairAlignment, RecoversPoseAndScaleFromFeaturesAndMatchedGeometry) {
  PairAlignmentOptions options;
  options.use_matched_geometry = true;
  options.optimize_scale = true;
  for (uint64_t seed = 1; seed <= 15; ++seed) {
    const PairScene scene = MakeCavityScene({.seed = seed});
    PairAlignmentProblem problem = MakeProblem(scene, 128, seed);
    problem.source_log_scale += seed % 2 == 0 ? 0.2 : -0.2;
    const auto result = AlignPair(problem, Rigid3(), options);
    ExpectTruePose(result, scene, seed);
    EXPECT_NEAR(result.source_log_scale, scene.source_state.log_scale, 2e-3) << seed;
  }
}

TEST(FactorPairAlignment, RecoversTheCodeWhereTheTruthLiesInTheSpanOfTheBases) {
  PairAlignmentOptions options;
  options.use_matched_geometry = true;
  options.optimize_scale = true;
  options.optimize_code = true;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const PairScene scene = MakeCavityScene({.code_size = 1.0, .seed = seed});
    PairAlignmentProblem problem = MakeProblem(scene, 128, seed);
    problem.source_log_scale += 0.1;
    problem.source_code.resize(0);  // counts as zero
    const auto result = AlignPair(problem, Rigid3(), options);
    ExpectTruePose(result, scene, seed);
    EXPECT_NEAR(result.source_log_scale, scene.source_state.log_scale, 2e-3) << seed;
    EXPECT_LT((result.source_code - scene.source_state.code).norm(), 0.05 * scene.source_state.code.norm());
  }
}

TEST(FactorPairAlignment, ACodeThatJoinsLateIsFoundAsWellAndFromFurtherAway) {
  PairAlignmentOptions options;
  options.use_matched_geometry = true;
  options.optimize_scale = options.optimize_code = true;
  options.feature_metric.relative = true;
  options.matched_geometry.weight = 1;
  options.code_prior_weight = 1e-4;
  options.solver.max_iterations = 100;
  constexpr int kScenes = 10;
  double late_error = 0;  // a code of zero would be off by 1 in each scene
  for (uint64_t seed = 1; seed <= kScenes; ++seed) {
    const PairScene scene = MakeCavityScene({.code_size = 1.0, .seed = seed});
    PairAlignmentProblem problem = MakeProblem(scene, 128, seed);
    problem.source_code.resize(0);
    Vector6d off;
    off << 0.1, -0.08, 0.05, 0.1, 0.12, -0.08;
    const Rigid3 start = scene.TargetFromSource().Retract(off);
    options.code_joins_late = true;
    const auto result = AlignPair(problem, start, options);
    ASSERT_EQ(result.source_code.size(), scene.source_state.code.size());
    late_error += (result.source_code - scene.source_state.code).norm() / scene.source_state.code.norm();
    EXPECT_LT(RotationAngle(result.target_from_source.Rotation(), scene.TargetFromSource().Rotation()),
              1.0 * kDegree)
        << seed;
  }
  EXPECT_LT(late_error, 0.5 * kScenes);
}

TEST(FactorPairAlignment, RelativeCodesDoNotDependOnTheSizeOfTheBases) {
  const PairScene scene = MakeCavityScene({.code_size = 1.0, .seed = 3});
  PairAlignmentProblem problem = MakeProblem(scene, 128, 3);
  problem.source_code.resize(0);
  PairAlignmentOptions options;
  options.use_matched_geometry = true;
  options.optimize_scale = options.optimize_code = options.relative_code = true;
  options.code_prior_weight = 1;
  const auto result = AlignPair(problem, Rigid3(), options);
  Keyframe louder = *scene.samples->keyframe;
  for (size_t i = 0; i < louder.depth.bases.Size(); ++i) louder.depth.bases.Data()[i] *= 4;
  problem.source = MakeKeyframeSamples(std::make_shared<const Keyframe>(louder));
  const auto other = AlignPair(problem, Rigid3(), options);
  EXPECT_GT(result.source_code.norm(), 0.01);
  EXPECT_LT((result.source_code - 4 * other.source_code).norm(), 0.02 * result.source_code.norm());
}

TEST(FactorPairAlignment, CoarseLevelsAloneLeaveABiasThatTheFinestRemoves) {
  const PairScene scene = MakeCavityScene({.seed = 10});
  PairAlignmentOptions joint;
  joint.finest_levels = 0;
  const PairAlignmentProblem problem = MakeProblem(scene, 128, 10);
  const auto error = [&](const PairAlignmentResult& result) {
    return (result.target_from_source.Translation() - scene.TargetFromSource().Translation()).norm();
  };
  EXPECT_GT(error(AlignPair(problem, Rigid3(), joint)), 3 * error(AlignPair(problem, Rigid3())));
}

TEST(FactorPairAlignment, OutlierMatchesWithLowWeightDoNoHarm) {
  const PairScene scene = MakeCavityScene();
  PairAlignmentProblem problem = MakeProblem(scene, 128, 1);
  for (size_t i = 0; i < 30; ++i) {
    problem.matches[i].target += Eigen::Vector2d(15, -10);
    problem.matches[i].weight = 0.01;
  }
  ExpectTruePose(AlignPair(problem, Rigid3()), scene, 1);
}

TEST(FactorPairAlignment, SaysNoOverlapWhereTheTargetLooksAway) {
  const PairScene scene = MakeCavityScene();
  const Rigid3 turned(ExpSO3({0, M_PI, 0}), Eigen::Vector3d::Zero());
  const PairAlignmentProblem problem = MakeProblem(scene, 0, 1);
  const auto result = AlignPair(problem, turned);
  EXPECT_EQ(result.status, PairAlignmentStatus::kNoOverlap);
  EXPECT_FALSE(result.reason.empty());
  EXPECT_EQ(result.overlap, 0);
  EXPECT_EQ(result.target_from_source.Matrix(), turned.Matrix());
  EXPECT_TRUE(std::isfinite(result.feature_error));
}

TEST(FactorPairAlignment, SaysDegenerateWhereFeaturesAreFlatAndMatchesAreFew) {
  const PairScene scene = MakeCavityScene();
  auto flat = std::make_shared<Frame>(*scene.target->frame);
  flat->features = MakeFeaturePyramid(Image<float>(80, 64, 16, 0.5F), {}, scene.view->mask, 4);
  for (const int matches : {0, 1}) {
    PairAlignmentProblem problem = MakeProblem(scene, matches, 1);
    problem.target = flat;
    const auto result = AlignPair(problem, Rigid3());
    EXPECT_EQ(result.status, PairAlignmentStatus::kDegenerate) << matches;
    EXPECT_TRUE(result.target_from_source.Matrix().allFinite());
  }
}

TEST(FactorPairAlignment, SaysNotConvergedWhenItRunsOutOfIterations) {
  const PairScene scene = MakeCavityScene();
  PairAlignmentOptions options;
  options.solver.max_iterations = 1;
  options.finest_levels = 0;
  const auto result = AlignPair(MakeProblem(scene, 10, 1), Rigid3(), options);
  EXPECT_EQ(result.status, PairAlignmentStatus::kNotConverged);
  EXPECT_EQ(result.reason, ToString(StopReason::kMaxIterations));
}

TEST(FactorPairAlignment, PackedKeyframesGiveTheSameResult) {
  const PairScene scene = MakeCavityScene({.seed = 4});
  PairAlignmentProblem problem = MakeProblem(scene, 64, 4);
  PairAlignmentOptions options;
  options.optimize_scale = true;
  options.use_matched_geometry = true;
  const auto whole = AlignPair(problem, Rigid3(), options);
  const Keyframe packed{PackFrame(scene.samples->keyframe->frame), scene.samples->keyframe->depth};
  problem.source = MakeKeyframeSamples(std::make_shared<const Keyframe>(packed));
  problem.target = PackFrame(problem.target);
  ASSERT_TRUE(problem.target->features.IsPacked());
  const auto other = AlignPair(problem, Rigid3(), options);
  EXPECT_EQ((whole.target_from_source.Translation() - other.target_from_source.Translation()).norm(), 0);
  EXPECT_EQ(whole.source_log_scale, other.source_log_scale);
  // A factor that meets packed features itself unpacks them.
  Values values;
  values.Insert(PoseKey(0), Rigid3());
  const PairVariables variables = PairVariables::Relative(
      PoseKey(0),
      DepthVariables::Fixed(problem.source_log_scale, Eigen::VectorXd::Zero(problem.source->NumBases())), {});
  for (const bool plain : {false, true}) {
    FeatureMetricOptions feature;
    feature.plain = plain;
    const FeatureMetricFactor a(variables, scene.samples, scene.target->frame, feature);
    const FeatureMetricFactor b(variables, problem.source, problem.target, feature);
    EXPECT_EQ(a.Error(values), b.Error(values));
  }
}

TEST(FactorPairAlignment, ResultDoesNotDependOnThreads) {
  const PairScene scene = MakeCavityScene();
  PairAlignmentOptions threaded;
  threaded.feature_metric.threads = 3;
  const auto one = AlignPair(MakeProblem(scene, 50, 1), Rigid3());
  const auto three = AlignPair(MakeProblem(scene, 50, 1), Rigid3(), threaded);
  EXPECT_EQ(one.target_from_source.Matrix(), three.target_from_source.Matrix());
}

TEST(FactorPairAlignment, BrokenContractsThrow) {
  const PairScene scene = MakeCavityScene();
  PairAlignmentOptions options;
  options.use_matched_geometry = true;
  PairAlignmentProblem problem = MakeProblem(scene, 10, 1);
  problem.target_keyframe = nullptr;
  EXPECT_THROW(AlignPair(problem, Rigid3(), options), ContractError);
  problem = MakeProblem(scene, 10, 1);
  problem.source_code.resize(3);
  EXPECT_THROW(AlignPair(problem, Rigid3()), ContractError);
}

TEST(FactorPairAlignment, OptionsCanBeSetByName) {
  PairAlignmentOptions options;
  SetConfig("feature_metric.level_weights=[4, 3]", options);
  SetConfig("solver.max_iterations=7", options);
  SetConfig("matched_geometry.sigma=0.2", options);
  EXPECT_EQ(options.feature_metric.level_weights, (std::vector<double>{4, 3}));
  EXPECT_EQ(options.solver.max_iterations, 7);
  EXPECT_EQ(options.matched_geometry.sigma, 0.2);
}

}  // namespace
}  // namespace lumen
