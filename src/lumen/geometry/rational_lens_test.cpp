#include "lumen/geometry/rational_lens.h"

#include <gtest/gtest.h>

namespace lumen {
namespace {

const PinholeCamera kPinhole{1000, 1010, 640, 510};
constexpr int kWidth = 1280, kHeight = 1024;

TEST(RationalLens, FiveCoefficientsAreTakenAsTheyAre) {
  const auto lens =
      RadTanFromCoefficients(kPinhole, {0.1, -0.2, 0.001, 0.002, 0.05, 0, 0, 0}, kWidth, kHeight);
  ASSERT_TRUE(lens);
  EXPECT_EQ(lens->distortion, (std::array<double, 5>{0.1, -0.2, 0.001, 0.002, 0.05}));
  ASSERT_TRUE(RadTanFromCoefficients(kPinhole, {0.1, -0.2, 0.001, 0.002}, kWidth, kHeight));
  EXPECT_TRUE(RadTanFromCoefficients(kPinhole, {}, kWidth, kHeight));
}

// Against the formula itself, over the whole picture.
TEST(RationalLens, AreFittedWithinAFractionOfAPixel) {
  const std::vector<double> k{0.9, 0.3, 0.0004, -0.0003, 0.02, 1.2, 0.5, 0.06};
  const auto lens = RadTanFromCoefficients(kPinhole, k, kWidth, kHeight);
  ASSERT_TRUE(lens);
  double worst = 0;
  for (double y = -0.5; y <= 0.5; y += 0.05) {
    for (double x = -0.64; x <= 0.64; x += 0.05) {
      const double q = x * x + y * y;
      const double radial =
          (1 + k[0] * q + k[1] * q * q + k[4] * q * q * q) / (1 + k[5] * q + k[6] * q * q + k[7] * q * q * q);
      const double u = x * radial + 2 * k[2] * x * y + k[3] * (q + 2 * x * x);
      const double v = y * radial + k[2] * (q + 2 * y * y) + 2 * k[3] * x * y;
      const auto pixel = lens->Project({x, y, 1});
      ASSERT_TRUE(pixel);
      worst = std::max(worst, std::hypot(pixel->x() - (1000 * u + 640), pixel->y() - (1010 * v + 510)));
    }
  }
  EXPECT_LT(worst, 0.1);
}

TEST(RationalLens, WhatFiveCannotSayIsRefused) {
  EXPECT_FALSE(RadTanFromCoefficients(kPinhole, {0, 0, 0, 0, 0, 0, 0, 0, 0.01}, kWidth, kHeight))
      << "a thin prism";
  EXPECT_FALSE(RadTanFromCoefficients(kPinhole, {0, 0, 0, 0, 0, -30, 0, 0}, kWidth, kHeight))
      << "divides by zero";
  EXPECT_FALSE(RadTanFromCoefficients({100, 100, 640, 510}, {0, 0, 0, 0, 0, 40, 0, 0}, kWidth, kHeight))
      << "rays never reach the corners";
}

}  // namespace
}  // namespace lumen
