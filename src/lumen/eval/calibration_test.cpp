#include "lumen/eval/calibration.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/random.h"

namespace lumen {
namespace {

TEST(Calibration, SharesAreThoseOfAGaussianWhereSigmasAreTrue) {
  Random random(7);
  Calibration good, bold;
  for (int i = 0; i < 100000; ++i) {
    const double sigma = std::exp(random.Normal());
    const double error = sigma * random.Normal();
    good.Add(error, sigma);
    bold.Add(error, sigma / 2);
  }
  const CalibrationScore score = good.Score(), too_sure = bold.Score();
  EXPECT_NEAR(score.within[0], 0.6827, 0.006);
  EXPECT_NEAR(score.within[1], 0.9545, 0.004);
  EXPECT_NEAR(score.within[2], 0.9973, 0.002);
  for (size_t k = 0; k < score.curve.size(); ++k)
    EXPECT_NEAR(score.curve[k], 0.1 * static_cast<double>(k + 1), 0.007);
  EXPECT_NEAR(too_sure.within[1], score.within[0], 1e-12);
  EXPECT_LT(score.nll, too_sure.nll);
  EXPECT_LT(score.nll, score.constant_nll - 0.5) << "sigmas that tell large errors from small ones";
}

TEST(Calibration, OneSigmaForAllIsNoBetterThanTheBestOne) {
  Calibration calibration;
  for (const double error : {1.0, -2.0, 3.0}) calibration.Add(error, std::sqrt(14.0 / 3));
  const CalibrationScore score = calibration.Score();
  EXPECT_NEAR(score.nll, score.constant_nll, 1e-12);
  EXPECT_NEAR(score.mean_square, 14.0 / 3, 1e-12);
}

TEST(Calibration, WhatIsNotSaidIsCountedApart) {
  Calibration calibration;
  calibration.Add(1, 0);
  calibration.Add(std::nan(""), 1);
  EXPECT_TRUE(calibration.Empty());
  EXPECT_EQ(calibration.Unsure(), 2);
  EXPECT_THROW(calibration.Score(), ContractError);
}

// Errors are told along and about the axes of the camera itself.
TEST(Calibration, ErrorsOfPosesAreInTheirOwnFrame) {
  const Eigen::Quaterniond to_the_right(Eigen::AngleAxisd(std::numbers::pi / 2, Eigen::Vector3d::UnitY()));
  PoseError pose;
  pose.estimate = Rigid3(to_the_right, {1, 2, 3});
  pose.truth = pose.estimate *
               Rigid3(Eigen::Quaterniond(Eigen::AngleAxisd(0.01, Eigen::Vector3d::UnitZ())), {0, 0, 0.5});
  const Eigen::Matrix<double, 6, 1> errors = ErrorsInOwnFrame(pose);
  EXPECT_LT((errors.head<3>() - Eigen::Vector3d(0, 0, 0.5)).norm(), 1e-12);
  EXPECT_LT((errors.tail<3>() - Eigen::Vector3d(0, 0, 0.572958)).norm(), 1e-5);
  // What moves both alike is no error of the step between them.
  const Rigid3 moved(Eigen::Quaterniond(Eigen::AngleAxisd(0.3, Eigen::Vector3d::UnitX())), {4, 5, 6});
  PoseError from, to;
  from.estimate = pose.estimate;
  to.estimate = pose.estimate * Rigid3(to_the_right, {0, 1, 0});
  from.truth = moved * from.estimate;
  to.truth = moved * to.estimate;
  EXPECT_LT(ErrorsOfStep(from, to).norm(), 1e-12);
}

}  // namespace
}  // namespace lumen
