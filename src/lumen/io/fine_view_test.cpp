#include "lumen/io/fine_view.h"

#include <gtest/gtest.h>

#include "lumen/io/rectifier.h"

namespace lumen {
namespace {

// Green grows with the angle right of the axis, as the source's camera sees it.
RgbImage Ramp(const Camera& camera) {
  RgbImage image(camera.Width(), camera.Height(), 3);
  for (int y = 0; y < camera.Height(); ++y) {
    for (int x = 0; x < camera.Width(); ++x) {
      const auto direction = camera.Unproject({static_cast<double>(x), static_cast<double>(y)});
      const double value = direction ? 128 + 100 * direction->x() : 0;
      for (int c = 0; c < 3; ++c) image(x, y, c) = static_cast<uint8_t>(std::lround(value));
    }
  }
  return image;
}

TEST(FineView, IsTheSourceWhereThatIsTheView) {
  const Camera source(PinholeCamera{400, 400, 319.5, 255.5}, 640, 512);
  const FineView fine(source, source.Resized(160, 128), 85);
  EXPECT_EQ(fine.Times(), 4);
  RgbImage image(640, 512, 3);
  image(10, 20, 1) = 200;
  EXPECT_EQ(fine.Apply(image), image);
}

TEST(FineView, TakesWhatTheSourceShowsAndNoMore) {
  for (const auto& [width, times] : {std::pair{160, 0}, {240, 0}, {320, 2}, {480, 2}, {640, 4}, {1920, 4}}) {
    const double f = 0.625 * width;
    const Camera source(PinholeCamera{f, f, 0.5 * (width - 1), 0.4 * width - 0.5}, width, width * 4 / 5);
    const FineView fine(source, source.Resized(160, 128), 85);
    EXPECT_EQ(fine.Times(), times) << width;
    const RgbImage picture = fine.Apply(Ramp(source));
    EXPECT_EQ(picture.Width(), 160 * times);
    EXPECT_EQ(picture.Height(), 128 * times);
  }
}

// A fisheye brought to its bent view: each fine pixel shows what lies in its direction.
TEST(FineView, FollowsTheLens) {
  const Camera source(KannalaBrandtCamera{{190, 190, 331, 250}, {0.02, -0.01, 0, 0}}, 640, 512);
  Mask content(640, 512);
  for (int y = 0; y < 512; ++y) {
    for (int x = 0; x < 640; ++x) content(x, y) = std::hypot(x - 331, y - 250) < 230 ? 255 : 0;
  }
  const Rectifier rectifier(source, content);
  const FineView fine(source, rectifier.TargetCamera(), 85);
  ASSERT_GT(fine.Times(), 0);
  const RgbImage picture = fine.Apply(Ramp(source));
  int seen = 0;
  for (int y = 0; y < picture.Height(); y += 7) {
    for (int x = 0; x < picture.Width(); x += 7) {
      if (rectifier.TargetMask()(x / fine.Times(), y / fine.Times()) == 0) continue;
      const auto direction = fine.TargetCamera().Unproject({static_cast<double>(x), static_cast<double>(y)});
      ASSERT_TRUE(direction);
      EXPECT_NEAR(picture(x, y, 1), 128 + 100 * direction->x(), 2) << x << ' ' << y;
      ++seen;
    }
  }
  EXPECT_GT(seen, 500);
}

}  // namespace
}  // namespace lumen
