// Interlaced frames, burnt-in text and pictures within pictures.
#include <gtest/gtest.h>

#include <cmath>

#include "lumen/base/random.h"
#include "lumen/image/interlace.h"
#include "lumen/image/overlay.h"

namespace lumen {
namespace {

constexpr int kWidth = 320, kHeight = 240;

// Smooth bumps that move; as soft as tissue.
RgbImage Tissue(double shift, int width = kWidth, int height = kHeight) {
  RgbImage image(width, height, 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double u = x + shift, v = y + 0.4 * shift;
      const double value = 120 + 40 * std::sin(u / 9) * std::cos(v / 11) + 25 * std::sin((u + v) / 5);
      for (int c = 0; c < 3; ++c) image.Row(y)[3 * x + c] = static_cast<uint8_t>(value - 10 * c);
    }
  }
  return image;
}

RgbImage Woven(const RgbImage& even, const RgbImage& odd) {
  RgbImage image = even;
  for (int y = 1; y < image.Height(); y += 2) std::copy_n(odd.Row(y), 3 * image.Width(), image.Row(y));
  return image;
}

TEST(Interlace, TeethAreSeenWhereSomethingMovesAndNowhereElse) {
  EXPECT_LT(ShareOfTeeth(Tissue(0)), kTeethInAFrame / 10);
  EXPECT_GT(ShareOfTeeth(Woven(Tissue(0), Tissue(6))), kTeethInAFrame);
  EXPECT_EQ(ShareOfTeeth(Woven(Tissue(0), Tissue(0))), ShareOfTeeth(Tissue(0)));
}

TEST(Interlace, NoiseIsNoTeeth) {
  Random random(1);
  RgbImage noisy = Tissue(0);
  for (size_t i = 0; i < noisy.Size(); ++i)
    noisy.Data()[i] = static_cast<uint8_t>(std::clamp(noisy.Data()[i] + random.Normal(0, 6), 0.0, 255.0));
  EXPECT_LT(ShareOfTeeth(noisy), kTeethInAFrame);
}

TEST(Interlace, OneFieldIsKept) {
  RgbImage image = Woven(Tissue(0), Tissue(6));
  const RgbImage before = image;
  KeepOneField(image);
  EXPECT_LT(ShareOfTeeth(image), kTeethInAFrame / 10);
  for (int y = 0; y < kHeight; y += 2)
    EXPECT_TRUE(std::equal(image.Row(y), image.Row(y) + 3 * kWidth, before.Row(y)));
  EXPECT_EQ(image.Row(5)[7], (image.Row(4)[7] + image.Row(6)[7] + 1) / 2);
}

void PaintText(RgbImage& image, int left, int top) {
  for (int letter = 0; letter < 6; ++letter)
    for (int y = top; y < top + 12; ++y)
      for (int x = left + 10 * letter; x < left + 10 * letter + 3; ++x)
        for (int c = 0; c < 3; ++c) image.Row(y)[3 * x + c] = 235;
}

TEST(UnchangedPixels, AreTheTextWithItsGapsAndARim) {
  std::vector<RgbImage> frames;
  for (int i = 0; i < 20; ++i) {
    frames.push_back(Tissue(11 * i));
    PaintText(frames.back(), 200, 30);
  }
  const UnchangedPixels found = FindUnchanged(frames, Mask(kWidth, kHeight, 1, 255));
  EXPECT_LT(found.share, 0.01);
  for (int x = 200; x < 253; ++x) EXPECT_NE(found.mask(x, 35), 0) << x << ": a letter, or between two";
  EXPECT_EQ(found.mask(100, 100), 0);
  EXPECT_LT(static_cast<double>(CountMask(found.mask)), 0.04 * kWidth * kHeight);
}

TEST(UnchangedPixels, AStillCameraChangesNothing) {
  const std::vector<RgbImage> frames(10, Tissue(0));
  EXPECT_GT(FindUnchanged(frames, Mask(kWidth, kHeight, 1, 255)).share, 0.8);
}

std::vector<RgbImage> WithInset(PixelBox box) {
  std::vector<RgbImage> frames;
  for (int i = 0; i < 5; ++i) {
    frames.push_back(Tissue(3 * i));
    const RgbImage other = Tissue(1000 - 7 * i, box.width, box.height);
    for (int y = 0; y < box.height; ++y)
      for (int x = 0; x < 3 * box.width; ++x)
        frames.back().Row(box.y + y)[3 * box.x + x] =
            static_cast<uint8_t>(std::min(255, other.Row(y)[x] + 60));
  }
  return frames;
}

TEST(Inset, IsFoundInTheMiddleAndInACorner) {
  for (const PixelBox box : {PixelBox{60, 40, 100, 70}, PixelBox{220, 170, 100, 70}}) {
    const auto found = FindInset(WithInset(box));
    ASSERT_TRUE(found) << box.x;
    EXPECT_NEAR(found->x, box.x, 3);
    EXPECT_NEAR(found->y, box.y, 3);
    EXPECT_NEAR(found->width, box.width, 6);
    EXPECT_NEAR(found->height, box.height, 6);
  }
}

TEST(Inset, TissueTextAndABlackFrameAreNone) {
  std::vector<RgbImage> frames{Tissue(0), Tissue(2), Tissue(4)};
  EXPECT_FALSE(FindInset(frames));
  for (RgbImage& frame : frames) PaintText(frame, 30, 30);
  EXPECT_FALSE(FindInset(frames));
  for (RgbImage& frame : frames)
    for (int y = 0; y < kHeight; ++y)
      for (int x = 0; x < kWidth; ++x)
        if (x < 80 || x >= 240 || y < 60 || y >= 180)
          for (int c = 0; c < 3; ++c) frame.Row(y)[3 * x + c] = 0;
  EXPECT_FALSE(FindInset(frames)) << "the content's own rectangle";
}

}  // namespace
}  // namespace lumen
