// What the contract suite does not ask: degenerate geometry, bad input, invariances, and how the factors
// work together.
#include <gtest/gtest.h>

#include <limits>

#include "lumen/base/error.h"
#include "lumen/base/parallel.h"
#include "lumen/factors/feature_metric_factor.h"
#include "lumen/factors/geometric_consistency_factor.h"
#include "lumen/factors/match_factors.h"
#include "lumen/factors/pair_scene_test.h"
#include "lumen/factors/prior_factors.h"
#include "lumen/factors/relative_pose_scale_factor.h"
#include "lumen/graph/incremental_smoother.h"

namespace lumen {
namespace {

const PairVariables kWorld = PairVariables::World(0, 1);

FactorGraph AllPairFactors(const PairScene& scene) {
  Random random(1);
  const std::vector<Match> matches = MakeTrueMatches(scene, 50, random);
  return {std::make_shared<FeatureMetricFactor>(kWorld, scene.samples, scene.target->frame),
          std::make_shared<GeometricConsistencyFactor>(kWorld, scene.samples, scene.target),
          std::make_shared<ReprojectionFactor>(kWorld, scene.source, scene.view, matches),
          std::make_shared<MatchedGeometryFactor>(kWorld, scene.source, scene.target, matches)};
}

void ExpectDefinedEmptiness(const NormalBlock& block) {
  EXPECT_EQ(block.count, 0);
  EXPECT_TRUE(block.H.isZero());
  EXPECT_TRUE(block.b.isZero());
  EXPECT_TRUE(std::isfinite(block.error));
  EXPECT_GT(block.error, 0);
}

TEST(FactorDegenerate, AllPointsBehindTheCameraGiveADefinedErrorAndNoDerivative) {
  const PairScene scene = MakeCavityScene();
  Values values = scene.TrueValues();
  const Rigid3 turned(ExpSO3({0, M_PI, 0}), Eigen::Vector3d::Zero());
  SetPose(values, 1, PoseOf(values, 0) * turned);
  for (const FactorPtr& factor : AllPairFactors(scene)) {
    const NormalBlock block = factor->Linearize(values);
    ExpectDefinedEmptiness(block);
    EXPECT_EQ(block.error, factor->Error(values));
    // Worse than any alignment nearby, so that a solver never prefers to look away.
    EXPECT_GT(block.error, factor->Error(scene.TrueValues()));
  }
}

TEST(UnpackedFeatures, AreMadeOnceForTheLastFewAndGiveTheSameBits) {
  const PairScene scene = MakeCavityScene();
  const auto packed = PackFrame(scene.target->frame);
  const auto at_hand = std::make_shared<UnpackedFeatures>(2);
  const auto features = at_hand->Of(packed, 2);
  EXPECT_EQ(features->levels.size(), 2U);
  EXPECT_EQ(at_hand->Of(packed, 2), features);
  EXPECT_NE(at_hand->Of(packed, 3), features);
  const FeatureMetricFactor plain(kWorld, scene.samples, scene.target->frame);
  const FeatureMetricFactor kept(kWorld, scene.samples, packed, {}, nullptr, at_hand);
  const FeatureMetricFactor each_time(kWorld, scene.samples, packed);
  const Values values = scene.TrueValues();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(kept.Linearize(values).H, plain.Linearize(values).H);
    EXPECT_EQ(each_time.Linearize(values).H, plain.Linearize(values).H);
  }
  // Two others, and it has gone; who holds it keeps it.
  for (int i = 0; i < 2; ++i) at_hand->Of(PackFrame(std::make_shared<Frame>(*scene.source->frame)), 2);
  EXPECT_NE(at_hand->Of(packed, 2), features);
  EXPECT_EQ(features->levels.size(), 2U);
}

TEST(UnpackedFeatures, ThreadsThatAskAtOnceGetOne) {
  const auto packed = PackFrame(MakeCavityScene().target->frame);
  UnpackedFeatures at_hand(3);
  std::vector<std::shared_ptr<const FeaturePyramid>> got(16);
  ParallelFor(16, 4, [&](int64_t i) { got[static_cast<size_t>(i)] = at_hand.Of(packed, 1); });
  for (const auto& features : got) EXPECT_EQ(features, got[0]);
  EXPECT_FALSE(got[0]->levels.empty());
}

TEST(FactorDegenerate, NegativeDepthIsNotSeen) {
  const PairScene scene = MakeCavityScene();
  Values values = scene.TrueValues();
  const int flat_basis = 3;  // one wave along y: negative over part of the image
  Eigen::VectorXd code = values.Keyframe(KeyframeKey(0)).code;
  code[flat_basis] += 100;
  SetCode(values, 0, code);
  for (const FactorPtr& factor : AllPairFactors(scene)) {
    const NormalBlock block = factor->Linearize(values);
    EXPECT_TRUE(block.IsFinite());
    EXPECT_LT(block.count, 3000);
  }
}

TEST(FactorDegenerate, NoSamplesAndNoMatchesAreNoOverlap) {
  const PairScene scene = MakeCavityScene();
  const auto none = MakeKeyframeSamples(scene.source, {});
  const Values values = scene.TrueValues();
  ExpectDefinedEmptiness(FeatureMetricFactor(kWorld, none, scene.target->frame).Linearize(values));
  ExpectDefinedEmptiness(GeometricConsistencyFactor(kWorld, none, scene.target).Linearize(values));
  ExpectDefinedEmptiness(ReprojectionFactor(kWorld, scene.source, scene.view, {}).Linearize(values));
  ExpectDefinedEmptiness(MatchedGeometryFactor(kWorld, scene.source, scene.target, {}).Linearize(values));
}

TEST(FactorDegenerate, FlatFeaturesHaveErrorButNoGradient) {
  const PairScene scene = MakeCavityScene();
  auto flat = std::make_shared<Frame>(*scene.target->frame);
  flat->features = MakeFeaturePyramid(Image<float>(80, 64, 16, 0.5F), {}, scene.view->mask, 4);
  const NormalBlock block = FeatureMetricFactor(kWorld, scene.samples, flat).Linearize(scene.TrueValues());
  EXPECT_GT(block.error, 0);
  EXPECT_GT(block.count, 1000);
  EXPECT_TRUE(block.IsFinite());
  EXPECT_LT(block.b.norm(), 1e-4);
  EXPECT_LT(block.H.norm(), 1e-4);
}

TEST(FactorDegenerate, OneMatchGivesABlockOfItsRank) {
  const PairScene scene = MakeCavityScene();
  Random random(1);
  const auto matches = MakeTrueMatches(scene, 1, random);
  const NormalBlock block =
      ReprojectionFactor(kWorld, scene.source, scene.view, matches).Linearize(scene.TrueValues());
  EXPECT_EQ(block.count, 1);
  EXPECT_TRUE(block.IsFinite());
}

TEST(FactorBadInput, NumbersThatAreNotFiniteBreakTheContractAtConstruction) {
  const PairScene scene = MakeCavityScene();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {nan, infinity}) {
    auto frame = std::make_shared<Frame>(*scene.target->frame);
    frame->features.levels[2].values(3, 4, 5) = bad;
    EXPECT_THROW(FeatureMetricFactor(kWorld, scene.samples, frame), ContractError);
    auto keyframe = std::make_shared<Keyframe>(*scene.source);
    keyframe->frame = frame;
    EXPECT_THROW(MakeKeyframeSamples(keyframe), ContractError);
    auto with_depth = std::make_shared<Keyframe>(*scene.source);
    with_depth->depth.average(10, 10) = bad;
    EXPECT_THROW(MakeKeyframeSamples(with_depth), ContractError);
    EXPECT_THROW(GeometricConsistencyFactor(kWorld, scene.samples, with_depth), ContractError);
    EXPECT_THROW(ReprojectionFactor(kWorld, with_depth, scene.view, {}), ContractError);
    std::vector<Match> matches(1);
    matches[0].target.x() = static_cast<double>(bad);
    EXPECT_THROW(ReprojectionFactor(kWorld, scene.source, scene.view, matches), ContractError);
  }
}

TEST(FactorBadInput, WhatDoesNotFitBreaksTheContract) {
  const PairScene scene = MakeCavityScene();
  FeatureMetricOptions five_levels;
  five_levels.level_weights = {1, 1, 1, 1, 1};
  EXPECT_THROW(FeatureMetricFactor(kWorld, scene.samples, scene.target->frame, five_levels), ContractError);
  EXPECT_THROW(MakeKeyframeSamples(scene.source, {Eigen::Vector2i(80, 0)}), ContractError);
  std::vector<Match> outside(1);
  outside[0].source = {-1, 3};
  EXPECT_THROW(ReprojectionFactor(kWorld, scene.source, scene.view, outside), ContractError);
  Values values;
  for (const int64_t id : {0, 1}) {
    values.Insert(PoseKey(id), Rigid3());
    values.Insert(LogScaleKey(id), 0.0);
    values.Insert(CodeKey(id), Eigen::VectorXd(Eigen::VectorXd::Zero(5)));  // there are 16 bases
  }
  for (const FactorPtr& factor : AllPairFactors(scene)) EXPECT_THROW(factor->Error(values), ContractError);
  EXPECT_THROW(ScaleFactor(LogScaleKey(0), 0.0, -1.0), ContractError);
}

TEST(FactorInvariance, ScalingThePairTogetherChangesNoError) {
  const PairScene scene = MakeCavityScene();
  Random random(3);
  Values values = scene.TrueValues();
  SetPose(values, 0, PoseOf(values, 0).Retract(Vector6d::Constant(0.01)));
  Values scaled = values;
  const double shift = 0.9;
  for (const int64_t id : {0, 1}) {
    const Rigid3& pose = PoseOf(values, id);
    SetPose(scaled, id, Rigid3(pose.Rotation(), std::exp(shift) * pose.Translation()));
    SetLogScale(scaled, id, LogScaleOf(values, id) + shift);
  }
  FactorGraph factors = AllPairFactors(scene);
  factors.push_back(std::make_shared<RelativePoseScaleFactor>(
      kWorld, RelativePoseScaleGoal{scene.TargetFromSource(), 0.1, 0.2}));
  for (const FactorPtr& factor : factors) {
    const double error = factor->Error(values);
    EXPECT_GT(error, 0);
    EXPECT_NEAR(factor->Error(scaled), error, 1e-5 * error);
  }
}

TEST(FactorInvariance, TrackingIsTheSameResidualAsMapping) {
  const PairScene scene = MakeCavityScene();
  Values values = scene.TrueValues();
  SetPose(values, 0, PoseOf(values, 0).Retract(Vector6d::Constant(0.01)));
  const Rigid3 relative = PoseOf(values, 1).Inverse() * PoseOf(values, 0);
  Values tracked;
  tracked.Insert(PoseKey(5), relative);
  const PairVariables tracking = PairVariables::Relative(
      PoseKey(5), DepthVariables::Fixed(scene.source_state.log_scale, scene.source_state.code));
  const NormalBlock world = FeatureMetricFactor(kWorld, scene.samples, scene.target->frame).Linearize(values);
  const NormalBlock local =
      FeatureMetricFactor(tracking, scene.samples, scene.target->frame).Linearize(tracked);
  EXPECT_EQ(world.count, local.count);
  EXPECT_NEAR(world.error, local.error, 1e-9 * world.error);
  // In the target's own frame a step to the left of target_from_source is the opposite step of the target, in
  // its unit.
  Matrix6d by_target = -Matrix6d::Identity();
  by_target.topLeftCorner<3, 3>() *= std::exp(LogScaleOf(values, 1));
  const Eigen::MatrixXd expected = by_target.transpose() * local.H * by_target;
  const Eigen::MatrixXd target = world.Hessian(KeyframeKey(1), KeyframeKey(1)).topLeftCorner<6, 6>();
  EXPECT_LT((target - expected).norm(), 1e-5 * expected.norm());
}

TEST(FactorMatches, WeightsScaleTheirShareOfTheError) {
  const PairScene scene = MakeCavityScene();
  Random random(4);
  std::vector<Match> matches = MakeTrueMatches(scene, 20, random);
  for (Match& match : matches) match.weight = 1;
  Values values = scene.TrueValues();
  SetPose(values, 0, PoseOf(values, 0).Retract(Vector6d::Constant(0.02)));
  const auto error = [&] {
    return ReprojectionFactor(kWorld, scene.source, scene.view, matches).Error(values);
  };
  const double all = error();
  for (Match& match : matches) match.weight = 0.25;
  EXPECT_NEAR(error(), 0.25 * all, 1e-12);
  matches[0].target += Eigen::Vector2d(1000, 0);
  matches[0].weight = 0;  // an outlier that does not count
  EXPECT_LT(error(), 0.25 * all);
}

TEST(FactorRotationLog, DifferenceDoesNotJumpWhereTheAnglePassesPi) {
  const Eigen::Vector3d axis = Eigen::Vector3d(1, 2, -1).normalized();
  const Eigen::Quaterniond goal = ExpSO3((M_PI - 0.01) * axis);
  for (const double angle : {M_PI - 0.02, M_PI - 1e-6, M_PI + 1e-6, M_PI + 0.02}) {
    const Eigen::Vector3d difference = RotationLogDifference(ExpSO3(angle * axis), goal, nullptr);
    EXPECT_LT((difference - (angle - M_PI + 0.01) * axis).norm(), 1e-9) << angle;
  }
}

TEST(FactorFallback, OtherNumbersOfChannelsAndBasesUseThePlainKernel) {
  const PairScene scene = MakeCavityScene({.num_bases = 5});
  const Values values = scene.TrueValues();
  EXPECT_GT(FeatureMetricFactor(kWorld, scene.samples, scene.target->frame).Linearize(values).count, 1000);
  EXPECT_GT(GeometricConsistencyFactor(kWorld, scene.samples, scene.target).Linearize(values).count, 1000);
}

// Two keyframes as mapping has them: FM and GC both ways, codes held by CD, the first anchored.
TEST(FactorMapping, SmootherRecoversPosesScalesAndDepth) {
  const PairScene scene = MakeCavityScene({.code_size = 1.0, .seed = 4});
  const auto back_samples = MakeKeyframeSamples(scene.target);
  const PairVariables back = PairVariables::World(1, 0);
  const Values truth = scene.TrueValues();
  SmootherChange change;
  change.new_factors = {
      std::make_shared<FeatureMetricFactor>(kWorld, scene.samples, scene.target->frame),
      std::make_shared<FeatureMetricFactor>(back, back_samples, scene.source->frame),
      std::make_shared<GeometricConsistencyFactor>(kWorld, scene.samples, scene.target),
      std::make_shared<GeometricConsistencyFactor>(back, back_samples, scene.source),
      std::make_shared<CodeFactor>(KeyframeKey(0), Eigen::VectorXd(Eigen::VectorXd::Zero(16))),
      std::make_shared<CodeFactor>(KeyframeKey(1), Eigen::VectorXd(Eigen::VectorXd::Zero(16))),
      std::make_shared<PoseFactor>(KeyframeKey(0), PoseOf(truth, 0)),
      std::make_shared<ScaleFactor>(KeyframeKey(0), LogScaleOf(truth, 0))};
  change.new_values = truth;
  Vector6d push;
  push << 0.02, -0.015, 0.02, 0.02, -0.02, 0.01;
  SetPose(change.new_values, 1, PoseOf(truth, 1).Retract(push));
  SetLogScale(change.new_values, 1, LogScaleOf(truth, 1) + 0.1);
  SetCode(change.new_values, 1, Eigen::VectorXd(Eigen::VectorXd::Zero(16)));
  IncrementalSmoother smoother;
  const double before = smoother.Update(change).error;
  double after = before;
  for (int i = 0; i < 20; ++i) after = smoother.Update().error;
  EXPECT_LT(after, before);
  const Values values = smoother.Estimate();
  const double baseline = scene.TargetFromSource().Translation().norm();
  // Four levels jointly, as the paper maps: the coarse ones' bias remains (see pair_alignment.h).
  EXPECT_LT((PoseOf(values, 1).Translation() - PoseOf(truth, 1).Translation()).norm(), 0.05 * baseline);
  EXPECT_NEAR(LogScaleOf(values, 1), LogScaleOf(truth, 1), 0.02);
  EXPECT_EQ(smoother.Update().evaluated_factors, 0);
}

}  // namespace
}  // namespace lumen
