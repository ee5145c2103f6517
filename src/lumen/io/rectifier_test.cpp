#include "lumen/io/rectifier.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lumen/image/mask.h"
#include "lumen/image/resize.h"

namespace lumen {
namespace {

constexpr double kSmooth = 1.6;  // beyond, the pattern is finer than the pixels

// A pattern that is smooth on the plane z = 1, so that its true value at any ray is known.
double Pattern(const Eigen::Vector2d& p, int channel) {
  return 127 + 100 * std::sin((6 + channel) * p.x() + channel) * std::cos(5 * p.y());
}

RgbImage RenderPattern(const Camera& camera) {
  RgbImage image(camera.Width(), camera.Height(), 3);
  for (int y = 0; y < image.Height(); ++y) {
    for (int x = 0; x < image.Width(); ++x) {
      const auto direction = camera.Unproject(Eigen::Vector2d(x, y));
      if (!direction || direction->z() < 0.1) continue;
      for (int c = 0; c < 3; ++c) {
        image(x, y, c) = static_cast<uint8_t>(std::lround(Pattern(direction->head<2>() / direction->z(), c)));
      }
    }
  }
  return image;
}

Mask Disc(int width, int height, double cx, double cy, double radius) {
  Mask mask(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) mask(x, y) = std::hypot(x - cx, y - cy) <= radius ? 255 : 0;
  }
  return mask;
}

void ExpectPatternInTarget(const Camera& source, const Mask& mask) {
  const Rectifier rectifier(source, mask);
  const RgbImage seen = rectifier.Apply(RenderPattern(source));
  const UnifiedCamera target = *rectifier.TargetCamera().AsUnified();
  EXPECT_DOUBLE_EQ(target.fx, target.fy);
  EXPECT_GT(CountMask(rectifier.TargetMask()), 4000);
  double worst = 0;
  for (int v = 0; v < 128; ++v) {
    for (int u = 0; u < 160; ++u) {
      if (rectifier.TargetMask()(u, v) == 0) continue;
      const Eigen::Vector3d ray = target.RayAtUnitDepth(u, v);
      const Eigen::Vector2d p = ray.head<2>() / ray.z();
      if (p.norm() > kSmooth) continue;
      for (int c = 0; c < 3; ++c) worst = std::max(worst, std::abs(seen(u, v, c) - Pattern(p, c)));
    }
  }
  EXPECT_LT(worst, 3) << source.ModelName();
}

TEST(Rectifier, EveryCameraModelShowsTheSameScene) {
  const Mask mask = Disc(960, 540, 470, 260, 240);
  const PinholeCamera pinhole{340, 340, 436, 236};
  ExpectPatternInTarget(Camera(pinhole, 960, 540), mask);
  ExpectPatternInTarget(Camera(PinholeCamera{340, 300, 436, 236}, 960, 540), mask);
  ExpectPatternInTarget(Camera(RadTanCamera{pinhole, {-0.2, 0.03, 1e-3, 1e-3, 0}}, 960, 540), mask);
  ExpectPatternInTarget(Camera(KannalaBrandtCamera{pinhole, {-0.02, 0.003, 0, 0}}, 960, 540), mask);
  ExpectPatternInTarget(Camera(OmniCamera{480, 270, {385, -1.6e-3, 2.5e-6, -9.6e-9}, {1, 0, 0}}, 960, 540),
                        mask);
}

TEST(Rectifier, ContentFillsTheViewWithoutBeingSqueezed) {
  // As in a real 1920×1080 frame: content about 1050×970 of it.
  const Camera source(PinholeCamera{677, 677, 872, 472}, 1920, 1080);
  Mask mask = Disc(1920, 1080, 1000, 545, 525);
  for (int y = 0; y < 1080; ++y) {
    for (int x = 0; x < 1920; ++x) mask(x, y) = y < 60 || y >= 1030 ? 0 : mask(x, y);
  }
  const Rectifier rectifier(source, mask);
  const UnifiedCamera target = *rectifier.TargetCamera().AsUnified();
  EXPECT_DOUBLE_EQ(target.fx, target.fy);
  EXPECT_TRUE(target.IsPinhole());                  // 44° off the axis at the right
  EXPECT_NEAR(677 / target.fx, 970 / 128.0, 0.03);  // the height binds
  const PixelBox box = BoundingBox(rectifier.TargetMask());
  EXPECT_NEAR(box.height, 128, 2);
  EXPECT_NEAR(box.width, 1050 / (970 / 128.0), 3);
}

TEST(Rectifier, FiveByFourPinholeIsTakenAsItIs) {
  const Camera source = Camera::FromFieldOfView(77, 160, 128);
  const Rectifier same(source, Disc(160, 128, 80, 64, 60));
  EXPECT_EQ(same.TargetCamera(), source);
  const RgbImage image = RenderPattern(source);
  EXPECT_EQ(same.Apply(image), image);
  const Rectifier half(Camera::FromFieldOfView(77, 320, 256), Mask(320, 256, 1, 255));
  EXPECT_NEAR(half.TargetCamera().AsPinhole()->fx, source.AsPinhole()->fx, 1e-9);
}

TEST(Rectifier, WholeFactorResizeIsTheExactAreaMean) {
  const Camera source = Camera::FromFieldOfView(77, 640, 512);
  const RgbImage image = RenderPattern(source);
  const RgbImage seen = Rectifier(source, Mask(640, 512, 1, 255)).Apply(image);
  const RgbImage exact = ResizeArea(image, 160, 128);
  int worst = 0;
  for (size_t i = 0; i < seen.Size(); ++i)
    worst = std::max(worst, std::abs(seen.Data()[i] - exact.Data()[i]));
  EXPECT_LE(worst, 1);
}

// A lens of even pixels per angle, so many degrees from side to side.
Camera Equidistant(double degrees, int width, int height) {
  return Camera::GuessFromFieldOfView(degrees, width, height);
}

TEST(Rectifier, AWideLensKeepsItsPixelsPerAngle) {
  const Mask mask = Disc(640, 512, 320, 256, 250);
  for (const double degrees : {140.0, 160.0, 170.0}) {
    const Rectifier rectifier(Equidistant(degrees, 640, 512), mask);
    const UnifiedCamera target = *rectifier.TargetCamera().AsUnified();
    EXPECT_NEAR(target.alpha, 0.62, 1e-9);
    // All of the disc is there, and nothing is squeezed: a pixel of the view is four of the frame's.
    const PixelBox box = BoundingBox(rectifier.TargetMask());
    EXPECT_GE(box.height, 124) << degrees;
    EXPECT_GE(box.width, 124) << degrees;
    const double expected = (degrees * M_PI / 180) / 640 * (501.0 / 128);  // radians a pixel
    for (int u = 20; u < 139; u += 10) {
      const double angle = std::acos(target.Unproject({u, 64})->dot(*target.Unproject({u + 1, 64})));
      EXPECT_NEAR(angle / expected, 1, 0.12) << degrees << " " << u;
    }
  }
}

TEST(Rectifier, BendsByHowWideTheContentIs) {
  EXPECT_EQ(AlphaForHalfAngle(38), 0);
  EXPECT_EQ(AlphaForHalfAngle(46), 0);
  EXPECT_NEAR(AlphaForHalfAngle(48), 0.31, 1e-9);
  EXPECT_NEAR(AlphaForHalfAngle(80), 0.62, 1e-9);
  // The same lens, of which a mask shows the middle alone, is a pinhole.
  const Camera lens = Equidistant(150, 640, 512);
  EXPECT_TRUE(Rectifier(lens, Disc(640, 512, 320, 256, 150)).TargetCamera().AsUnified()->IsPinhole());
  // A wide pinhole is bent; what the user asks for is taken.
  const Camera pinhole = Camera::FromFieldOfView(130, 640, 512);
  EXPECT_GT(Rectifier(pinhole, Mask(640, 512, 1, 255)).TargetCamera().AsUnified()->alpha, 0.5);
  const RectifierOptions flat{.alpha = 0};
  EXPECT_TRUE(Rectifier(lens, Disc(640, 512, 320, 256, 200), flat).TargetCamera().AsUnified()->IsPinhole());
}

TEST(Rectifier, AViewThatWasChosenIsTakenAsItIs) {
  const Camera view(UnifiedCamera{60, 60, 80, 64, 0.6}, 160, 128);
  EXPECT_EQ(Rectifier(view, Disc(160, 128, 80, 64, 60)).TargetCamera(), view);
}

TEST(Rectifier, WhatNoViewCanHoldIsRefusedAndALittleOfItLeftOut) {
  const Mask whole = Disc(640, 512, 320, 256, 256);
  const auto refusal = [&](const Camera& camera, const Mask& mask) -> std::string {
    try {
      const Rectifier rectifier(camera, mask);
      return "";
    } catch (const InputError& error) {
      return error.what();
    }
  };
  // 105° off the axis at the disc's edge; 88° are cut to 85.
  EXPECT_NE(refusal(Camera(KannalaBrandtCamera{{140, 140, 320, 256}, {}}, 640, 512), whole).find("85"),
            std::string::npos);
  const Camera a_little(KannalaBrandtCamera{{166, 166, 320, 256}, {}}, 640, 512);
  EXPECT_EQ(refusal(a_little, whole), "");
  const Rectifier cut(a_little, whole);
  for (int y = 0; y < 128; ++y) {
    for (int x = 0; x < 160; ++x) {
      const double forward = cut.TargetMask()(x, y) != 0 ? cut.TargetCamera().Unproject({x, y})->z() : 1;
      EXPECT_GT(forward, std::cos(85.5 * M_PI / 180));
    }
  }
  // A polynomial that turns back within the mask, and one that falls and rises again.
  EXPECT_NE(refusal(Camera(KannalaBrandtCamera{{250, 250, 320, 256}, {-0.4, 0, 0, 0}}, 640, 512), whole)
                .find("polynomial"),
            std::string::npos);
  EXPECT_NE(refusal(Camera(KannalaBrandtCamera{{250, 250, 320, 256}, {-0.7, 0, 0.12, 0}}, 640, 512), whole)
                .find("polynomial"),
            std::string::npos);
  EXPECT_NE(refusal(Equidistant(120, 640, 512), Disc(640, 512, 0, 0, 60)).find("mask shows only"),
            std::string::npos);
}

TEST(Rectifier, EmptyMaskIsAnInputError) {
  EXPECT_THROW(Rectifier(Camera::FromFieldOfView(77, 640, 480), Mask(640, 480)), InputError);
}

}  // namespace
}  // namespace lumen
