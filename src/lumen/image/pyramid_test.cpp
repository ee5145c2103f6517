#include "lumen/image/pyramid.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lumen {
namespace {

Image<float> Affine(int width, int height) {
  Image<float> image(width, height, 2);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      image(x, y, 0) = 3.0F * x + y;
      image(x, y, 1) = -2.0F * y;
    }
  }
  return image;
}

TEST(MaskedPyramid, CoarsePixelSitsAtTheCentreOfItsFourFineOnes) {
  const Image<float> fine = Affine(16, 12);
  const Image<float> coarse = DownsampleMasked(fine, Mask(16, 12, 1, 255));
  for (int y = 1; y < 5; ++y) {
    for (int x = 1; x < 7; ++x) {  // inside, where the kernel is whole
      EXPECT_FLOAT_EQ(coarse(x, y, 0), 3 * (2 * x + 0.5F) + (2 * y + 0.5F));
      EXPECT_FLOAT_EQ(coarse(x, y, 1), -2 * (2 * y + 0.5F));
    }
  }
}

TEST(MaskedPyramid, InvalidPixelsChangeNothing) {
  Mask mask(8, 8, 1, 255);
  Image<float> clean(8, 8, 1, 2.0F);
  Image<float> dirty = clean;
  for (int y = 0; y < 8; ++y) {
    mask(3, y) = mask(0, y) = 0;
    dirty(3, y) = 1e6F;
    dirty(0, y) = -1e6F;
  }
  const auto pyramid = MakeMaskedPyramid(dirty, mask, 3);
  ASSERT_EQ(pyramid.size(), 3U);
  for (int level = 1; level < 3; ++level) {
    for (size_t i = 0; i < pyramid[level].Size(); ++i) EXPECT_FLOAT_EQ(pyramid[level].Data()[i], 2.0F);
  }
}

TEST(MaskedPyramid, NothingValidGivesZero) {
  const Image<float> coarse = DownsampleMasked(Affine(8, 8), Mask(8, 8));
  for (size_t i = 0; i < coarse.Size(); ++i) EXPECT_EQ(coarse.Data()[i], 0.0F);
}

TEST(Gradients, AffineImageHasItsSlopeEverywhereEvenAtBorders) {
  Mask mask(10, 8, 1, 255);
  mask(5, 4) = 0;
  const Image<float> values = InterleaveGradients(Affine(10, 8), mask);
  ASSERT_EQ(values.Channels(), 6);
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 10; ++x) {
      EXPECT_FLOAT_EQ(values(x, y, 0), 3.0F * x + y);
      EXPECT_FLOAT_EQ(values(x, y, 2), 3.0F) << x << " " << y;
      EXPECT_FLOAT_EQ(values(x, y, 3), 0.0F);
      EXPECT_FLOAT_EQ(values(x, y, 4), 1.0F);
      EXPECT_FLOAT_EQ(values(x, y, 5), -2.0F);
    }
  }
}

TEST(Gradients, PixelWithoutValidNeighboursHasNone) {
  Mask mask(3, 3);
  mask(1, 1) = 255;
  const Image<float> values = InterleaveGradients(Affine(3, 3), mask);
  EXPECT_EQ(values(1, 1, 2), 0.0F);
  EXPECT_EQ(values(1, 1, 4), 0.0F);
}

}  // namespace
}  // namespace lumen
