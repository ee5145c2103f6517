#include "lumen/image/mask.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lumen/base/random.h"

namespace lumen {
namespace {

Mask Disc(int width, int height, double cx, double cy, double radius) {
  Mask mask(width, height);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) mask(x, y) = std::hypot(x - cx, y - cy) <= radius ? 255 : 0;
  }
  return mask;
}

TEST(Mask, ErosionShrinksADiscByItsCount) {
  const Mask eroded = ErodeMask(Disc(80, 64, 40, 32, 25), 6);
  EXPECT_EQ(eroded(40, 32 - 19), 255);
  EXPECT_EQ(eroded(40, 32 - 20), 0);
  EXPECT_EQ(eroded(40 + 19, 32), 255);
  EXPECT_EQ(eroded(40 + 20, 32), 0);
}

TEST(Mask, ErosionTakesTheImageEdgeUnlessToldNotTo) {
  const Mask full(10, 8, 1, 255);
  EXPECT_EQ(CountMask(ErodeMask(full, 2)), 6 * 4);
  EXPECT_EQ(CountMask(ErodeMask(full, 2, false)), 80);
}

TEST(ConvexHull, SquareWithInnerPointsHasFourCornersAndItsArea) {
  const auto hull = ConvexHull({{0, 0}, {2, 0}, {2, 2}, {0, 2}, {1, 1}, {1, 0}, {0.5, 1.5}, {0, 0}});
  EXPECT_EQ(hull.size(), 4U);
  EXPECT_DOUBLE_EQ(PolygonArea(hull), 4.0);
}

TEST(ConvexHull, FewOrCollinearPointsHaveNoArea) {
  EXPECT_DOUBLE_EQ(PolygonArea(ConvexHull({})), 0.0);
  EXPECT_DOUBLE_EQ(PolygonArea(ConvexHull({{1, 1}, {2, 2}, {3, 3}})), 0.0);
}

TEST(ConvexHull, OfManyPointsIsThatOfTheFewThatMatter) {
  Random random(8);
  for (int round = 0; round < 50; ++round) {
    std::vector<Eigen::Vector2d> points;
    const double flat = round % 5 == 0 ? 0 : random.Uniform(0.1, 1);
    for (int i = 0; i < 500; ++i) {
      const double angle = random.Uniform(0, 2 * M_PI);
      const double radius = std::sqrt(random.Uniform(0, 1));
      points.emplace_back(radius * std::cos(angle), flat * radius * std::sin(angle));
    }
    const auto hull = ConvexHull(points);
    if (flat == 0) {
      EXPECT_NEAR(PolygonArea(hull), 0, 1e-15);
      continue;
    }
    // Every point lies to the left of every side, and the corners are among the points.
    for (size_t i = 0; i < hull.size(); ++i) {
      const Eigen::Vector2d& a = hull[i];
      const Eigen::Vector2d side = hull[(i + 1) % hull.size()] - a;
      EXPECT_TRUE(std::find(points.begin(), points.end(), a) != points.end());
      for (const Eigen::Vector2d& point : points)
        ASSERT_GE(side.x() * (point - a).y() - side.y() * (point - a).x(), -1e-12);
    }
  }
}

TEST(ConvexHull, FillClosesHolesAndBays) {
  Mask ring = Disc(60, 60, 30, 30, 20);
  for (int y = 25; y < 60; ++y) {
    for (int x = 28; x < 33; ++x) ring(x, y) = 0;
  }
  const Mask filled = FillConvexHull(ring);
  EXPECT_EQ(filled(30, 35), 255);
  EXPECT_EQ(filled(30, 30), 255);
  EXPECT_EQ(filled(30, 55), 0);
  EXPECT_NEAR(static_cast<double>(CountMask(filled)), M_PI * 400, 60);
}

// A lit disc with shading, a dark tunnel in its middle, noise on the border.
RgbImage FakeFrame(double cx, double cy, double radius, uint64_t seed) {
  Random random(seed);
  RgbImage image(192, 108, 3);
  for (int y = 0; y < 108; ++y) {
    for (int x = 0; x < 192; ++x) {
      const double r = std::hypot(x - cx, y - cy);
      const double level = r > radius ? 3 : r < 15 ? 8 : 60 + 100 * r / radius;
      for (int c = 0; c < 3; ++c)
        image(x, y, c) = static_cast<uint8_t>(level / (1 + c) + random.UniformInt(0, 4));
    }
  }
  return image;
}

TEST(DetectLitRegion, FindsTheCircleWithItsDarkCentre) {
  const Mask mask = DetectLitRegion({FakeFrame(90, 52, 45, 1), FakeFrame(90, 52, 45, 2)});
  const Mask truth = Disc(192, 108, 90, 52, 45);
  int64_t different = 0;
  for (size_t i = 0; i < mask.Size(); ++i) different += mask.Data()[i] != truth.Data()[i];
  EXPECT_LT(different, CountMask(truth) / 50);
}

TEST(DetectLitRegion, FullFrameVideoIsAllContent) {
  EXPECT_EQ(CountMask(DetectLitRegion({RgbImage(64, 48, 3, 120)})), 64 * 48);
}

TEST(DetectLitRegion, BlackVideoHasNoContent) {
  EXPECT_EQ(CountMask(DetectLitRegion({RgbImage(64, 48, 3, 2)})), 0);
}

}  // namespace
}  // namespace lumen
