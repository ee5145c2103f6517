#include "lumen/sim/noise.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lumen {
namespace {

using Eigen::Vector3f;

TEST(NoiseVolume, IsAFunctionOfItsSeed) {
  const Vector3f p(1.3F, -7.7F, 40.2F);
  EXPECT_EQ(NoiseVolume(5).Value(p), NoiseVolume(5).Value(p));
  EXPECT_NE(NoiseVolume(5).Value(p), NoiseVolume(6).Value(p));
}

TEST(NoiseVolume, StaysWithinOneAndUsesMostOfIt) {
  const NoiseVolume noise(1);
  float low = 0;
  float high = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto t = static_cast<float>(i);
    const float value = noise.Value({0.37F * t, 0.11F * t, -0.23F * t});
    low = std::min(low, value);
    high = std::max(high, value);
  }
  EXPECT_GE(low, -1.0F);
  EXPECT_LE(high, 1.0F);
  EXPECT_LT(low, -0.7F);
  EXPECT_GT(high, 0.7F);
}

TEST(NoiseVolume, GradientMatchesDifferences) {
  const NoiseVolume noise(3);
  constexpr float kStep = 1e-2F;
  for (int i = 0; i < 50; ++i) {
    const Vector3f p(0.731F * static_cast<float>(i), -0.513F * static_cast<float>(i),
                     0.217F * static_cast<float>(i));
    Vector3f gradient;
    noise.Value(p, &gradient);
    for (int axis = 0; axis < 3; ++axis) {
      const Vector3f step = kStep * Vector3f::Unit(axis);
      const float numeric = (noise.Value(p + step) - noise.Value(p - step)) / (2 * kStep);
      EXPECT_NEAR(gradient[axis], numeric, 5e-3F);
    }
  }
}

TEST(NoiseSignal, HasUnitSpreadAndNoSuddenSteps) {
  const NoiseSignal signal(9, 0.1, 1.0);
  double sum = 0;
  double squares = 0;
  double largest_step = 0;
  constexpr int kCount = 30000;
  for (int i = 0; i < kCount; ++i) {
    const double value = signal.Value(0.01 * i);
    sum += value;
    squares += value * value;
    largest_step = std::max(largest_step, std::abs(value - signal.Value(0.01 * (i + 1))));
  }
  EXPECT_NEAR(sum / kCount, 0.0, 0.1);
  EXPECT_NEAR(std::sqrt(squares / kCount), 1.0, 0.1);
  EXPECT_LT(largest_step, 0.2);
}

TEST(SmoothMin, RoundsTheCreaseFromBelowOnly) {
  EXPECT_FLOAT_EQ(SmoothMin(1, 5, 2), 1);
  EXPECT_FLOAT_EQ(SmoothMin(3, 3, 2), 2.5F);
  EXPECT_FLOAT_EQ(SmoothMax(3, 3, 2), 3.5F);
}

}  // namespace
}  // namespace lumen
