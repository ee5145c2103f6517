#include "lumen/image/resize.h"

#include <gtest/gtest.h>

#include <numeric>

#include "lumen/base/random.h"

namespace lumen {
namespace {

TEST(ResizeArea, HalvingIsTheMeanOfFour) {
  Image<float> image(4, 2);
  std::iota(image.Data(), image.Data() + 8, 0.0F);
  const Image<float> half = ResizeArea(image, 2, 1);
  EXPECT_FLOAT_EQ(half(0, 0), (0 + 1 + 4 + 5) / 4.0F);
  EXPECT_FLOAT_EQ(half(1, 0), (2 + 3 + 6 + 7) / 4.0F);
}

TEST(ResizeArea, MeanIsKeptAtAnyRatio) {
  Random random(1);
  Image<float> image(37, 23, 2);
  for (size_t i = 0; i < image.Size(); ++i) image.Data()[i] = static_cast<float>(random.Uniform());
  const Image<float> small = ResizeArea(image, 10, 7);
  const auto mean = [](const Image<float>& picture) {
    return std::accumulate(picture.Data(), picture.Data() + picture.Size(), 0.0) /
           static_cast<double>(picture.Size());
  };
  EXPECT_NEAR(mean(small), mean(image), 1e-6);
}

TEST(ResizeArea, SameSizeChangesNothing) {
  Random random(2);
  RgbImage image(9, 5, 3);
  for (size_t i = 0; i < image.Size(); ++i) image.Data()[i] = static_cast<uint8_t>(random.UniformInt(0, 255));
  EXPECT_EQ(ResizeArea(image, 9, 5), image);
}

TEST(ResizeNearest, KeepsLabels) {
  Mask mask(4, 4);
  mask(2, 2) = mask(3, 2) = mask(2, 3) = mask(3, 3) = 255;
  const Mask half = ResizeNearest(mask, 2, 2);
  EXPECT_EQ(half(0, 0), 0);
  EXPECT_EQ(half(1, 1), 255);
}

TEST(ResizeArea, EmptyImageBreaksTheContract) {
  EXPECT_THROW(ResizeArea(Image<float>(), 2, 2), ContractError);
}

}  // namespace
}  // namespace lumen
