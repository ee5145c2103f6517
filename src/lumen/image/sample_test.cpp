#include "lumen/image/sample.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lumen/base/random.h"

namespace lumen {
namespace {

Image<float> RandomImage(int width, int height, int channels, uint64_t seed) {
  Random random(seed);
  Image<float> image(width, height, channels);
  for (size_t i = 0; i < image.Size(); ++i) image.Data()[i] = static_cast<float>(random.Normal());
  return image;
}

TEST(SampleBilinear, PixelCentresGiveThePixels) {
  const Image<float> image = RandomImage(7, 5, 3, 1);
  for (int y = 0; y < 5; ++y) {
    for (int x = 0; x < 7; ++x) {
      float values[3];
      ASSERT_TRUE(SampleBilinear(image, x, y, values));
      for (int c = 0; c < 3; ++c) EXPECT_FLOAT_EQ(values[c], image(x, y, c));
    }
  }
}

TEST(SampleBilinear, AffineImagesAreReproducedWithTheirSlope) {
  Image<float> image(9, 8, 2);
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 9; ++x) {
      image(x, y, 0) = 2.0F * x - 3.0F * y + 1;
      image(x, y, 1) = 0.5F * y;
    }
  }
  Random random(2);
  for (int i = 0; i < 100; ++i) {
    const double u = random.Uniform(0, 8);
    const double v = random.Uniform(0, 7);
    float f[2];
    float fu[2];
    float fv[2];
    ASSERT_TRUE(SampleBilinear(image, u, v, f, fu, fv));
    EXPECT_NEAR(f[0], 2 * u - 3 * v + 1, 1e-5);
    EXPECT_NEAR(f[1], 0.5 * v, 1e-5);
    EXPECT_NEAR(fu[0], 2, 1e-5);
    EXPECT_NEAR(fv[0], -3, 1e-5);
    EXPECT_NEAR(fu[1], 0, 1e-6);
    EXPECT_NEAR(fv[1], 0.5, 1e-5);
  }
}

TEST(SampleBilinear, DerivativeIsTheInterpolantsOwn) {
  const Image<float> image = RandomImage(12, 11, 4, 3);
  Random random(4);
  const double h = 1e-3;
  for (int i = 0; i < 100; ++i) {
    double u = std::floor(random.Uniform(0, 11));
    u += random.Uniform(0.1, 0.9);
    double v = std::floor(random.Uniform(0, 10));
    v += random.Uniform(0.1, 0.9);
    float f[4], fu[4], fv[4], a[4], b[4];
    ASSERT_TRUE(SampleBilinear(image, u, v, f, fu, fv));
    ASSERT_TRUE(SampleBilinear(image, u + h, v, a) && SampleBilinear(image, u - h, v, b));
    for (int c = 0; c < 4; ++c) EXPECT_NEAR(fu[c], (a[c] - b[c]) / (2 * h), 2e-3);
    ASSERT_TRUE(SampleBilinear(image, u, v + h, a) && SampleBilinear(image, u, v - h, b));
    for (int c = 0; c < 4; ++c) EXPECT_NEAR(fv[c], (a[c] - b[c]) / (2 * h), 2e-3);
  }
}

TEST(SampleBilinear, OutsideAndNanAreRefused) {
  const Image<float> image = RandomImage(4, 4, 1, 5);
  float value = 0;
  EXPECT_FALSE(SampleBilinear(image, -0.01, 1, &value));
  EXPECT_FALSE(SampleBilinear(image, 3.01, 1, &value));
  EXPECT_FALSE(SampleBilinear(image, 1, std::nan(""), &value));
  EXPECT_TRUE(SampleBilinear(image, 3, 3, &value));
  EXPECT_FLOAT_EQ(value, image(3, 3));
}

}  // namespace
}  // namespace lumen
