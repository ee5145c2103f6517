#include "lumen/io/rectifier.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lumen/image/mask.h"
#include "lumen/image/resize.h"

namespace lumen {
namespace {

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
  const PinholeCamera& target = *rectifier.TargetCamera().AsPinhole();
  EXPECT_DOUBLE_EQ(target.fx, target.fy);
  EXPECT_GT(CountMask(rectifier.TargetMask()), 4000);
  double worst = 0;
  for (int v = 0; v < 128; ++v) {
    for (int u = 0; u < 160; ++u) {
      if (rectifier.TargetMask()(u, v) == 0) continue;
      const Eigen::Vector2d p = target.RayAtUnitDepth(u, v).head<2>();
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
  const PinholeCamera& target = *rectifier.TargetCamera().AsPinhole();
  EXPECT_DOUBLE_EQ(target.fx, target.fy);
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

TEST(Rectifier, EmptyMaskIsAnInputError) {
  EXPECT_THROW(Rectifier(Camera::FromFieldOfView(77, 640, 480), Mask(640, 480)), InputError);
}

}  // namespace
}  // namespace lumen
