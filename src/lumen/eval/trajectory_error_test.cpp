#include "lumen/eval/trajectory_error.h"

#include <gtest/gtest.h>

#include <numbers>

#include "lumen/eval/eval_test_data.h"

namespace lumen {
namespace {

constexpr double kDegrees = 180 / std::numbers::pi;

double AngleOfMatrix(const Eigen::Matrix3d& rotation) {
  return kDegrees * std::acos(std::clamp((rotation.trace() - 1) / 2, -1.0, 1.0));
}

struct PlainErrors {
  double ate_translation = 0, ate_rotation = 0, rpe_translation = 0, rpe_rotation = 0, scale = 1;
};

// The second implementation: 4×4 matrices, Eigen's own Umeyama, the equations as they stand in the
// supplement.
PlainErrors ComputePlainErrors(const Trajectory& estimate, const Trajectory& truth, int step) {
  const auto n = static_cast<Eigen::Index>(truth.size());
  Eigen::Matrix3Xd from(3, n), to(3, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    from.col(i) = estimate[static_cast<size_t>(i)].world_from_camera.Translation();
    to.col(i) = truth[static_cast<size_t>(i)].world_from_camera.Translation();
  }
  const Eigen::Matrix4d alignment = Eigen::umeyama(from, to, true);
  PlainErrors errors;
  errors.scale = std::cbrt(alignment.topLeftCorner<3, 3>().determinant());
  const Eigen::Matrix3d rotation = alignment.topLeftCorner<3, 3>() / errors.scale;
  std::vector<Eigen::Matrix4d> aligned, expected;
  for (size_t i = 0; i < truth.size(); ++i) {
    const Eigen::Matrix4d old = estimate[i].world_from_camera.Matrix();
    Eigen::Matrix4d pose = Eigen::Matrix4d::Identity();
    pose.topLeftCorner<3, 3>() = rotation * old.topLeftCorner<3, 3>();
    pose.topRightCorner<3, 1>() = (alignment * old.col(3)).head<3>();
    aligned.push_back(pose);
    expected.push_back(truth[i].world_from_camera.Matrix());
    errors.ate_translation += (expected[i].col(3) - pose.col(3)).squaredNorm();
    errors.ate_rotation += std::pow(
        AngleOfMatrix(expected[i].topLeftCorner<3, 3>() * pose.topLeftCorner<3, 3>().transpose()), 2);
  }
  errors.ate_translation = std::sqrt(errors.ate_translation / static_cast<double>(n));
  errors.ate_rotation = std::sqrt(errors.ate_rotation / static_cast<double>(n));
  const size_t pairs = truth.size() - static_cast<size_t>(step);
  for (size_t i = 0; i < pairs; ++i) {
    const size_t j = i + static_cast<size_t>(step);
    const Eigen::Matrix4d error =
        (expected[i].inverse() * expected[j]).inverse() * (aligned[i].inverse() * aligned[j]);
    errors.rpe_translation += error.topRightCorner<3, 1>().squaredNorm();
    errors.rpe_rotation += std::pow(AngleOfMatrix(error.topLeftCorner<3, 3>()), 2);
  }
  errors.rpe_translation = std::sqrt(errors.rpe_translation / static_cast<double>(pairs));
  errors.rpe_rotation = std::sqrt(errors.rpe_rotation / static_cast<double>(pairs));
  return errors;
}

TEST(TrajectoryErrors, AKnownSimilarityGivesNoError) {
  const Trajectory truth = MakeWindingPath(120);
  const TrajectoryErrors errors =
      ComputeTrajectoryErrors(Transformed(SomeSimilarity().Inverse(), truth), truth);
  ASSERT_EQ(errors.status, TrajectoryStatus::kGood) << errors.reason;
  EXPECT_EQ(errors.associated, 120U);
  EXPECT_NEAR(errors.ate_translation, 0, 1e-10);
  EXPECT_NEAR(errors.ate_rotation_degrees, 0, 1e-5);
  ASSERT_TRUE(errors.relative);
  EXPECT_EQ(errors.relative->pairs, 113U);
  EXPECT_NEAR(errors.relative->translation, 0, 1e-10);
  EXPECT_NEAR(errors.relative->rotation_degrees, 0, 1e-5);
  EXPECT_NEAR(errors.truth_from_estimate.Scale(), SomeSimilarity().Scale(), 1e-12);
  EXPECT_NEAR(errors.path_length, PathLength(truth), 1e-9);
}

TEST(TrajectoryErrors, AKnownNoiseGivesItsKnownError) {
  // Independent noise of s per axis: ATE = √3 s (the alignment takes 7 of 3n degrees), RPE = √6 s.
  const double sigma = 0.05, angle = 0.01;
  const Trajectory truth = MakeWindingPath(20000);
  const TrajectoryErrors errors = ComputeTrajectoryErrors(Disturbed(truth, sigma, angle, 7), truth);
  ASSERT_EQ(errors.status, TrajectoryStatus::kGood);
  EXPECT_NEAR(errors.ate_translation, std::sqrt(3.0) * sigma, 0.01 * sigma);
  EXPECT_NEAR(errors.ate_rotation_degrees, kDegrees * std::sqrt(3.0) * angle, 0.01);
  EXPECT_NEAR(errors.relative->rotation_degrees, kDegrees * std::sqrt(6.0) * angle, 0.015);
  const TrajectoryErrors positions = ComputeTrajectoryErrors(Disturbed(truth, sigma, 0, 8), truth);
  EXPECT_NEAR(positions.relative->translation, std::sqrt(6.0) * sigma, 0.02 * sigma);
}

TEST(TrajectoryErrors, AgreeWithTheSecondImplementation) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const Trajectory truth = MakeWindingPath(90);
    const Trajectory estimate = Transformed(SomeSimilarity(), Disturbed(truth, 0.4, 0.1, seed));
    const TrajectoryErrors errors = ComputeTrajectoryErrors(estimate, truth, {.step_poses = 7});
    const PlainErrors plain = ComputePlainErrors(estimate, truth, 7);
    EXPECT_NEAR(errors.ate_translation, plain.ate_translation, 1e-9);
    EXPECT_NEAR(errors.ate_rotation_degrees, plain.ate_rotation, 1e-6);
    EXPECT_NEAR(errors.relative->translation, plain.rpe_translation, 1e-9);
    EXPECT_NEAR(errors.relative->rotation_degrees, plain.rpe_rotation, 1e-6);
    EXPECT_NEAR(errors.truth_from_estimate.Scale(), plain.scale, 1e-9);
  }
}

TEST(TrajectoryErrors, ASimilarityOfTheEstimateChangesNothing) {
  const Trajectory truth = MakeWindingPath(100);
  const Trajectory estimate = Disturbed(truth, 0.3, 0.05, 2);
  const TrajectoryErrors a = ComputeTrajectoryErrors(estimate, truth);
  const TrajectoryErrors b = ComputeTrajectoryErrors(Transformed(SomeSimilarity(), estimate), truth);
  EXPECT_NEAR(a.ate_translation, b.ate_translation, 1e-9);
  EXPECT_NEAR(a.ate_rotation_degrees, b.ate_rotation_degrees, 1e-7);
  EXPECT_NEAR(a.relative->translation, b.relative->translation, 1e-9);
  EXPECT_NEAR(a.relative->rotation_degrees, b.relative->rotation_degrees, 1e-7);
  EXPECT_NEAR(a.relative->drift_percent, b.relative->drift_percent, 1e-8);
}

TEST(TrajectoryErrors, ASimilarityOfBothScalesLengthsOnly) {
  const Trajectory truth = MakeWindingPath(100);
  const Trajectory estimate = Disturbed(truth, 0.3, 0.05, 2);
  const TrajectoryErrors a = ComputeTrajectoryErrors(estimate, truth);
  const double s = SomeSimilarity().Scale();
  const TrajectoryErrors b =
      ComputeTrajectoryErrors(Transformed(SomeSimilarity(), estimate), Transformed(SomeSimilarity(), truth));
  EXPECT_NEAR(s * a.ate_translation, b.ate_translation, 1e-9);
  EXPECT_NEAR(a.ate_rotation_degrees, b.ate_rotation_degrees, 1e-7);
  EXPECT_NEAR(s * a.relative->translation, b.relative->translation, 1e-9);
  EXPECT_NEAR(a.relative->rotation_degrees, b.relative->rotation_degrees, 1e-7);
  EXPECT_NEAR(a.relative->drift_percent, b.relative->drift_percent, 1e-8);
  EXPECT_NEAR(s * a.path_length, b.path_length, 1e-8);
}

TEST(TrajectoryErrors, AStepInTimeIsTheSameStepInPosesOfEvenTimes) {
  const Trajectory truth = MakeWindingPath(100);
  const Trajectory estimate = Disturbed(truth, 0.3, 0.05, 4);
  const TrajectoryErrors poses = ComputeTrajectoryErrors(estimate, truth, {.step_poses = 12});
  const TrajectoryErrors seconds = ComputeTrajectoryErrors(estimate, truth, {.step_seconds = 12 / 30.0});
  EXPECT_EQ(poses.relative->pairs, seconds.relative->pairs);
  EXPECT_DOUBLE_EQ(poses.relative->translation, seconds.relative->translation);
  EXPECT_NEAR(seconds.relative->mean_seconds, 0.4, 1e-9);
}

TEST(TrajectoryErrors, AStepInTimeOfSparsePosesTakesTheNearestAndNothingFarOff) {
  Trajectory truth = MakeWindingPath(100);
  Trajectory estimate;
  for (const size_t i : {0U, 9U, 11U, 20U, 60U, 99U}) estimate.push_back(truth[i]);
  const TrajectoryErrors errors = ComputeTrajectoryErrors(estimate, truth, {.step_seconds = 10 / 30.0});
  ASSERT_TRUE(errors.relative);
  EXPECT_EQ(errors.relative->pairs, 3U);  // 0–9 (or 11), 9–20, 11–20
}

TEST(TrajectoryErrors, OrientationsTurnedAsOneHaveNoErrorOfTheirOwn) {
  const Trajectory truth = MakeWindingPath(60);
  Trajectory turned = truth;
  const Eigen::Quaterniond turn = ExpSO3({0.3, -0.2, 0.5});
  for (TimedPose& pose : turned)
    pose.world_from_camera =
        Rigid3(turn * pose.world_from_camera.Rotation(), pose.world_from_camera.Translation());
  const TrajectoryErrors errors = ComputeTrajectoryErrors(turned, truth);
  EXPECT_NEAR(errors.ate_rotation_degrees, kDegrees * Eigen::Vector3d(0.3, -0.2, 0.5).norm(), 1e-6);
  EXPECT_NEAR(errors.own_rotation_degrees, 0, 1e-5);
  const TrajectoryErrors noisy = ComputeTrajectoryErrors(Disturbed(truth, 0, 0.02, 3), truth);
  EXPECT_NEAR(noisy.own_rotation_degrees, kDegrees * std::sqrt(3.0) * 0.02, 0.3);
}

TEST(TrajectoryErrors, ThePathIsTheTruthsOverTheGradedSpan) {
  const Trajectory truth = MakeWindingPath(100);
  Trajectory estimate;
  for (size_t i = 20; i <= 60; i += 10) estimate.push_back(truth[i]);
  const Trajectory span(truth.begin() + 20, truth.begin() + 61);
  EXPECT_NEAR(ComputeTrajectoryErrors(estimate, truth).path_length, PathLength(span), 1e-9);
}

TEST(TrajectoryErrors, WhatCannotBeGradedSaysWhy) {
  const Trajectory truth = MakeWindingPath(30);
  const auto status = [&](const Trajectory& estimate, const Trajectory& expected) {
    const TrajectoryErrors errors = ComputeTrajectoryErrors(estimate, expected);
    EXPECT_EQ(errors.reason.empty(), errors.status == TrajectoryStatus::kGood);
    return errors.status;
  };
  EXPECT_EQ(status({}, truth), TrajectoryStatus::kNoCommonTimes);
  EXPECT_EQ(status({{1e9, Rigid3()}}, truth), TrajectoryStatus::kNoCommonTimes);
  EXPECT_EQ(status({truth[0]}, truth), TrajectoryStatus::kTooFewPoses);
  EXPECT_EQ(status({truth[0], truth[5]}, truth), TrajectoryStatus::kTooFewPoses);
  Trajectory still = truth, straight = truth;
  for (TimedPose& pose : still) pose.world_from_camera = truth[3].world_from_camera;
  for (TimedPose& pose : straight)
    pose.world_from_camera = Rigid3(Eigen::Quaterniond::Identity(), {pose.time, 2 * pose.time, 0});
  EXPECT_EQ(status(still, truth), TrajectoryStatus::kNoSimilarity);
  EXPECT_EQ(status(truth, still), TrajectoryStatus::kNoSimilarity);
  EXPECT_EQ(status(straight, straight), TrajectoryStatus::kNoSimilarity);
  EXPECT_EQ(status(truth, truth), TrajectoryStatus::kGood);
}

TEST(TrajectoryErrors, TooShortForAStepHasNoRelativeErrors) {
  const Trajectory truth = MakeWindingPath(7);
  const TrajectoryErrors errors = ComputeTrajectoryErrors(truth, truth);
  EXPECT_EQ(errors.status, TrajectoryStatus::kGood);
  EXPECT_FALSE(errors.relative);
  EXPECT_NE(errors.relative_reason.find("found 7"), std::string::npos);
}

}  // namespace
}  // namespace lumen
