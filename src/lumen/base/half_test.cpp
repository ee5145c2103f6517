#include "lumen/base/half.h"

#include <gtest/gtest.h>

#include <limits>

#include "lumen/base/random.h"

namespace lumen {
namespace {

TEST(Half, EveryHalfComesBack) {
  for (uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = FromHalf(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(FromHalf(ToHalf(value)))) << bits;
    } else {
      EXPECT_EQ(ToHalf(value), half) << bits;
    }
  }
}

TEST(Half, IsTheNearestThereIs) {
  Random random(1);
  for (int i = 0; i < 100000; ++i) {
    const double size = std::pow(10.0, random.Uniform(-8, 4));
    const auto value = static_cast<float>(size * random.Normal());
    const uint16_t half = ToHalf(value);
    const float there = FromHalf(half);
    for (const int step : {-1, 1}) {
      const float beside = FromHalf(static_cast<uint16_t>(half + step));
      const bool is_one = std::isfinite(beside) && std::signbit(beside) == std::signbit(there);
      ASSERT_TRUE(!is_one || std::abs(there - value) <= std::abs(beside - value)) << value;
    }
  }
}

TEST(Half, KnownValues) {
  EXPECT_EQ(ToHalf(1.0F), 0x3c00);
  EXPECT_EQ(ToHalf(-2.0F), 0xc000);
  EXPECT_EQ(FromHalf(ToHalf(0.99999332F)), 1.0F);
  EXPECT_EQ(ToHalf(65504.0F), 0x7bff);
  EXPECT_EQ(ToHalf(65519.9F), 0x7bff);
  EXPECT_EQ(ToHalf(65520.0F), 0x7c00);
  EXPECT_EQ(ToHalf(0x1p-24F), 1);
  EXPECT_EQ(ToHalf(0x1p-26F), 0);
  EXPECT_EQ(ToHalf(std::numeric_limits<float>::infinity()), 0x7c00);
  EXPECT_TRUE(std::isnan(FromHalf(ToHalf(std::numeric_limits<float>::quiet_NaN()))));
}

}  // namespace
}  // namespace lumen
