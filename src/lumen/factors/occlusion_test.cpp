#include "lumen/factors/occlusion.h"

#include <gtest/gtest.h>

#include "lumen/factors/pair_scene_test.h"

namespace lumen {
namespace {

// A keyframe that sees a wall at `far` on the left half of its picture and at `near` on the right one.
std::shared_ptr<const Keyframe> MakeStep(const Keyframe& like, float far, float near) {
  const Mask& mask = like.frame->view->mask;
  Image<float> average(mask.Width(), mask.Height(), 1, far);
  for (int y = 0; y < mask.Height(); ++y) {
    for (int x = mask.Width() / 2; x < mask.Width(); ++x) average(x, y) = near;
  }
  Image<float> bases(mask.Width(), mask.Height(), like.depth.NumBases(), 0.0F);
  return std::make_shared<const Keyframe>(
      Keyframe{like.frame, MakeDepthBasis(std::move(average), std::move(bases), mask)});
}

KeyframeState StateOf(const Keyframe& keyframe, double log_scale) {
  KeyframeState state;
  state.log_scale = log_scale;
  state.code = Eigen::VectorXd::Zero(keyframe.depth.NumBases());
  return state;
}

HiddenSamples FindHiddenIn(const Keyframe& target, const KeyframeState& state, const KeyframeSamples& source,
                           double source_log_scale, double margin) {
  return FindHidden(source, StateOf(*source.keyframe, source_log_scale), *target.frame->view,
                    state.world_from_camera, ComputeDepth(target.depth, state.log_scale, state.code), margin);
}

TEST(Occlusion, FindsWhatStandsBehindSomethingByMoreThanTheMargin) {
  const PairScene scene = MakeCavityScene();
  const auto flat = MakeKeyframeSamples(MakeStep(*scene.source, 1, 1));
  const auto step = MakeStep(*scene.source, 1, 0.8F);
  const int middle = scene.view->mask.Width() / 2;
  const auto hidden = FindHiddenIn(*step, StateOf(*step, 0.5), *flat, 0.5, 0.1);
  ASSERT_EQ(static_cast<int>(hidden.size()), flat->Size());
  for (size_t i = 0; i < hidden.size(); ++i)
    EXPECT_EQ(hidden[i], flat->pixels[i] % scene.view->mask.Width() >= middle);
  // 1 / 0.8 is a quarter behind: not beyond a margin of 0.3, nor if the target's scale makes up for it.
  for (const bool is_hidden : FindHiddenIn(*step, StateOf(*step, 0), *flat, 0, 0.3)) EXPECT_FALSE(is_hidden);
  for (const bool is_hidden : FindHiddenIn(*step, StateOf(*step, 0.25), *flat, 0, 0.1))
    EXPECT_FALSE(is_hidden);
}

TEST(Occlusion, WhatIsNearerOrOutOfViewIsNotHidden) {
  const PairScene scene = MakeCavityScene();
  const auto near = MakeKeyframeSamples(MakeStep(*scene.source, 0.5F, 0.5F));
  const auto wall = MakeStep(*scene.source, 1, 1);
  for (const bool hidden : FindHiddenIn(*wall, StateOf(*wall, 0), *near, 0, 0.1)) EXPECT_FALSE(hidden);
  const auto far = MakeKeyframeSamples(MakeStep(*scene.source, 2, 2));
  KeyframeState aside = StateOf(*wall, 0);
  aside.world_from_camera = Rigid3(Eigen::Quaterniond::Identity(), {100, 0, 0});
  for (const bool hidden : FindHiddenIn(*wall, aside, *far, 0, 0.1)) EXPECT_FALSE(hidden);
}

}  // namespace
}  // namespace lumen
