#include "lumen/factors/overlap.h"

#include <gtest/gtest.h>

#include "lumen/factors/pair_registration.h"
#include "lumen/factors/pair_scene_test.h"

namespace lumen {
namespace {

DepthImage DepthOfKeyframe(const Keyframe& keyframe, const KeyframeState& state) {
  return ComputeDepth(keyframe.depth, state.log_scale, state.code);
}

// The scene's frames have no descriptors: their features, which are functions of the place, serve.
Frame WithDescriptors(const Frame& frame) {
  Frame copy = frame;
  copy.features.descriptors = FinestFeatures(frame.features);
  return copy;
}

TEST(Overlap, AFrameSeesAllOfItself) {
  const PairScene scene = MakeCavityScene();
  const DepthImage depth = DepthOfKeyframe(*scene.source, scene.source_state);
  const Overlap overlap = MeasureOverlap(depth, *scene.view, *scene.view, Rigid3());
  EXPECT_DOUBLE_EQ(overlap.point, 1);
  EXPECT_NEAR(overlap.area, 1, 1e-9);
  EXPECT_NEAR(overlap.flow, 0, 1e-12);
}

TEST(Overlap, AMovedCameraSeesLessByWhatLeftTheImage) {
  // A wall at depth 1, seen from beside: everything moves by ten pixels,
  // and ten columns of eighty leave.
  const View view{{50, 50, 39.5, 31.5}, Mask(80, 64, 1, 255), Mask(80, 64, 1, 255)};
  const DepthImage depth(80, 64, 1, 1.0F);
  const Rigid3 shift(Eigen::Quaterniond::Identity(), {0.2, 0, 0});  // 10 px at depth 1
  const Overlap overlap = MeasureOverlap(depth, view, view, shift);
  EXPECT_NEAR(overlap.point, 70.0 / 80.0, 1e-9);
  EXPECT_NEAR(overlap.area, 69.0 / 79.0, 1e-9);
  EXPECT_NEAR(overlap.flow, 10.0 / 80.0, 1e-9);
  const Rigid3 behind(Eigen::Quaterniond::Identity(), {0, 0, -2});
  EXPECT_EQ(MeasureOverlap(depth, view, view, behind).point, 0);
}

TEST(Overlap, ScaleOfTheTargetIsTheMedianRatio) {
  const PairScene scene = MakeCavityScene();
  const DepthImage source = DepthOfKeyframe(*scene.source, scene.source_state);
  DepthImage target = DepthOfKeyframe(*scene.target, scene.target_state);
  for (size_t i = 0; i < target.Size(); ++i) target.Data()[i] /= 3;
  const auto log_scale = EstimateLogScale(source, *scene.view, target, *scene.view, scene.TargetFromSource());
  ASSERT_TRUE(log_scale.has_value());
  EXPECT_NEAR(*log_scale, std::log(3), 0.01);
  const Rigid3 behind(Eigen::Quaterniond::Identity(), {0, 0, -10});
  EXPECT_FALSE(EstimateLogScale(source, *scene.view, target, *scene.view, behind).has_value());
}

TEST(Overlap, DepthsOfOneWallAgreeAndOthersSayByHowMuchTheyDoNot) {
  const PairScene scene = MakeCavityScene();
  const DepthImage source = DepthOfKeyframe(*scene.source, scene.source_state);
  const DepthImage target = DepthOfKeyframe(*scene.target, scene.target_state);
  const auto compare = [&](const DepthImage& seen) {
    return CompareDepths(source, *scene.view, seen, *scene.view, scene.TargetFromSource());
  };
  const DepthDisagreement same = compare(target);
  ASSERT_TRUE(same.Known());
  EXPECT_NEAR(same.offset, 0, 0.01);
  EXPECT_LT(same.spread, 0.02);
  // A fifth nearer all over: another scale. To and fro by a tenth: another shape.
  DepthImage nearer = target, bent = target;
  for (size_t i = 0; i < target.Size(); ++i) {
    nearer.Data()[i] *= 0.8F;
    bent.Data()[i] *= i / 8 % 2 == 0 ? 1.1F : 0.9F;
  }
  EXPECT_NEAR(compare(nearer).offset, -std::log(0.8), 0.01);
  EXPECT_NEAR(compare(nearer).spread, same.spread, 0.01);
  EXPECT_NEAR(compare(bent).offset, 0, 0.12);
  EXPECT_NEAR(compare(bent).spread, 0.1, 0.02);
  EXPECT_FALSE(compare(DepthImage(target.Width(), target.Height(), 1, 0.0F)).Known());
}

TEST(PairRegistration, FindsPoseAndScaleFromNothing) {
  const PairScene scene = MakeCavityScene({.baseline = 0.2, .rotation = 0.2});
  const DepthImage source = DepthOfKeyframe(*scene.source, scene.source_state);
  DepthImage target = DepthOfKeyframe(*scene.target, scene.target_state);
  for (size_t i = 0; i < target.Size(); ++i) target.Data()[i] *= 0.5F;
  const Frame a = WithDescriptors(*scene.source->frame);
  const Frame b = WithDescriptors(*scene.target->frame);
  const PairRegistration found = RegisterPair({&a, source}, {&b, target}, {}, 1);
  ASSERT_TRUE(found.Ok());
  EXPECT_GT(found.InlierRatio(), 0.3);
  EXPECT_LE(found.inliers.size(), found.consistent.size());
  EXPECT_NEAR(found.target_from_source.Scale(), 0.5, 0.02);
  const Rigid3 error = found.PoseInSourceUnit() * scene.TargetFromSource().Inverse();
  EXPECT_LT(error.Log().norm(), 0.03);
}

TEST(PairRegistration, UnknownDepthLeavesNothingToRegister) {
  const PairScene scene = MakeCavityScene();
  const DepthImage source = DepthOfKeyframe(*scene.source, scene.source_state);
  const DepthImage nothing(source.Width(), source.Height(), 1, 0.0F);
  const Frame a = WithDescriptors(*scene.source->frame);
  const Frame b = WithDescriptors(*scene.target->frame);
  const PairRegistration found = RegisterPair({&a, source}, {&b, nothing}, {}, 1);
  EXPECT_FALSE(found.Ok());
  EXPECT_TRUE(found.inliers.empty());
  EXPECT_EQ(found.InlierRatio(), 0);
}

}  // namespace
}  // namespace lumen
