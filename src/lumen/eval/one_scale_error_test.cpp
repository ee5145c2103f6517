#include "lumen/eval/one_scale_error.h"

#include <gtest/gtest.h>

#include "lumen/eval/eval_test_data.h"

namespace lumen {
namespace {

Trajectory Scaled(const Trajectory& path, double scale) {
  Trajectory scaled = path;
  for (TimedPose& pose : scaled)
    pose.world_from_camera =
        Rigid3(pose.world_from_camera.Rotation(), scale * pose.world_from_camera.Translation());
  return scaled;
}

TEST(OneScale, APathInAnotherWorldAndAtAnotherScaleIsRight) {
  const Trajectory truth = MakeWindingPath(40);
  Trajectory moved = Scaled(truth, 0.2);
  const Rigid3 elsewhere = Rigid3::Exp((Vector6d() << 1, 2, 3, 0.3, 0.2, -0.9).finished());
  for (TimedPose& pose : moved) pose.world_from_camera = elsewhere * pose.world_from_camera;
  const auto errors = ComputeChainedErrors(moved, truth);
  ASSERT_TRUE(errors);
  EXPECT_EQ(errors->steps, 39U);
  EXPECT_NEAR(errors->scale, 5, 1e-9);
  EXPECT_NEAR(errors->position, 0, 1e-9);
  EXPECT_NEAR(errors->step_translation, 0, 1e-9);
  EXPECT_NEAR(errors->step_rotation_degrees, 0, 1e-6);
}

// No similarity is fitted: a turn at the beginning is carried along to the end.
TEST(OneScale, WhatGoesWrongAtTheBeginningCountsToTheEnd) {
  const Trajectory truth = MakeWindingPath(120);
  Trajectory bent = truth;
  const Rigid3 first = truth.front().world_from_camera;
  const Rigid3 turn(Eigen::Quaterniond(Eigen::AngleAxisd(0.1, Eigen::Vector3d::UnitY())),
                    Eigen::Vector3d::Zero());
  for (size_t i = 1; i < bent.size(); ++i)
    bent[i].world_from_camera = first * turn * first.Inverse() * truth[i].world_from_camera;
  const auto errors = ComputeChainedErrors(bent, truth);
  ASSERT_TRUE(errors);
  EXPECT_GT(errors->position, 0.5);
  EXPECT_LT(errors->step_translation, 0.05) << "all steps but one are right";
}

TEST(OneScale, StandingStillAndMeetingNowhereHaveNoErrors) {
  const Trajectory truth = MakeWindingPath(10);
  EXPECT_FALSE(ComputeChainedErrors(Scaled(truth, 0), truth));
  EXPECT_FALSE(ComputeChainedErrors({}, truth));
  EXPECT_FALSE(ComputeChainedErrors(truth, {}));
}

TEST(OneScale, DepthsScaleIsThatOfTheMeans) {
  DepthImage truth(20, 20), estimate(20, 20);
  for (int y = 0; y < 20; ++y) {
    for (int x = 0; x < 20; ++x) {
      truth(x, y) = 10 + static_cast<float>(x);
      estimate(x, y) = truth(x, y) / 4 * (x < 10 ? 1.1F : 1.0F);
    }
  }
  truth(3, 3) = 0;  // unknown
  const auto means = MeanDepths(estimate, truth);
  ASSERT_TRUE(means);
  const double scale = FitDepthScale({*means});
  EXPECT_NEAR(scale, means->truth / means->estimate, 1e-9);
  const auto errors = ComputeDepthErrors(estimate, truth, 4);
  ASSERT_TRUE(errors);
  double sum = 0, square = 0;
  for (int x = 0; x < 10; ++x) {
    const double error = 0.1 * (10 + x);
    const double count = x == 3 ? 19 : 20;
    sum += count * error;
    square += count * error * error;
  }
  EXPECT_NEAR(errors->mean_absolute, sum / 399, 1e-5);
  EXPECT_NEAR(errors->root_mean_square, std::sqrt(square / 399), 1e-5);
  EXPECT_NEAR(errors->median_relative, 0, 0.1 + 1e-6);
  EXPECT_FALSE(ComputeDepthErrors(DepthImage(20, 20), truth, 1)) << "nothing is known";
}

}  // namespace
}  // namespace lumen
