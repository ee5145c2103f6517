// Points on a wavy plane that two cameras see: where they are found, and where they are found again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lumen/points/point_matching.h"

namespace lumen {
namespace {

constexpr int kWidth = 320, kHeight = 256;
constexpr double kDepth = 2;

// Grey of the plane z = kDepth at (x, y), smooth and without repetition.
double Pattern(double x, double y) {
  return std::sin(34 * x + 2 * std::sin(13 * y)) + std::sin(31 * y - 2.4 * std::sin(11 * x)) +
         0.7 * std::sin(53 * (x + y));
}

UnifiedCamera FineCamera() { return {250, 250, 159.5, 127.5}; }

std::shared_ptr<const View> MakeTestView() {
  const Camera camera(PinholeCamera{125, 125, 79.5, 63.5}, 160, 128);
  return MakeView(camera, Mask(160, 128, 1, 255), 2);
}

// What a camera at `world_from_camera` sees, under a light that falls off with its distance.
Image<uint8_t> Render(const Rigid3& world_from_camera, double falloff) {
  Image<uint8_t> picture(kWidth, kHeight);
  for (int v = 0; v < kHeight; ++v) {
    for (int u = 0; u < kWidth; ++u) {
      const Eigen::Vector3d ray = world_from_camera.Rotation() * FineCamera().RayAtUnitDepth(u, v);
      const double distance = (kDepth - world_from_camera.Translation().z()) / ray.z();
      const Eigen::Vector3d x = world_from_camera.Translation() + distance * ray;
      const double light = std::pow(kDepth / (distance * ray.norm()), falloff);
      picture(u, v) = static_cast<uint8_t>(std::clamp(light * (90 + 15 * Pattern(x.x(), x.y())), 0.0, 255.0));
    }
  }
  return picture;
}

Keyframe MakeTestKeyframe(const Rigid3& pose, double falloff) {
  auto frame = std::make_shared<Frame>();
  frame->view = MakeTestView();
  Image<float> depth(80, 64);
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 80; ++x) {
      const Eigen::Vector3d ray = pose.Rotation() * frame->view->camera.RayAtUnitDepth(x, y);
      depth(x, y) = static_cast<float>((kDepth - pose.Translation().z()) / ray.z());
    }
  }
  const Mask mask = frame->view->mask;
  const Image<uint8_t> grey = Render(pose, falloff);
  RgbImage fine(grey.Width(), grey.Height(), 3);
  for (size_t i = 0; i < fine.Size(); ++i) fine.Data()[i] = grey.Data()[i / 3];
  return {frame, MakeDepthBasis(depth, {}, mask), fine};
}

struct TwoViews {
  explicit TwoViews(double falloff = 2)
      : first(MakeTestKeyframe(Rigid3(), falloff)), second(MakeTestKeyframe(pose, falloff)) {}
  const Rigid3 pose{ExpSO3({0.02, -0.03, 0.05}), {0.08, -0.05, 0.25}};
  Keyframe first, second;
  PointOptions options;
};

TEST(FinePicture, HalvesAndCountsAgainstWhatIsAround) {
  Image<uint8_t> grey(64, 48, 1, 60);
  const FinePicture even = MakeFinePicture(grey, 3);
  ASSERT_EQ(even.NumLevels(), 3);
  EXPECT_EQ(even.levels[2].Width(), 16);
  for (const Image<uint8_t>& level : even.levels)
    for (const uint8_t pixel : std::vector<uint8_t>(level.Data(), level.Data() + level.Size()))
      EXPECT_EQ(pixel, FinePicture::kMiddle);
  // Twice the light changes nothing but the rounding.
  const Image<uint8_t> bright = Render(Rigid3(), 0);
  Image<uint8_t> dark = bright;
  for (size_t i = 0; i < dark.Size(); ++i) dark.Data()[i] = static_cast<uint8_t>(dark.Data()[i] / 2);
  const FinePicture a = MakeFinePicture(bright), b = MakeFinePicture(dark);
  for (size_t i = 0; i < a.levels[0].Size(); ++i)
    EXPECT_NEAR(a.levels[0].Data()[i], b.levels[0].Data()[i], 6);
}

TEST(FinePicture, LevelsShareTheirCentres) {
  const Eigen::Vector2d pixel(10.3, 20.7);
  EXPECT_NEAR((FromLevel(AtLevel(pixel, 2), 2) - pixel).norm(), 0, 1e-12);
  EXPECT_NEAR(AtLevel({0.5, 2.5}, 1).x(), 0, 1e-12);  // between the pixels 0 and 1 lies the first of the next
  EXPECT_NEAR(AtLevel({0.5, 2.5}, 1).y(), 1, 1e-12);
}

TEST(Corners, AreApartInsideTheMaskAndAwayFromHighlights) {
  Image<uint8_t> grey = Render(Rigid3(), 0);
  for (int y = 100; y < 110; ++y) {
    for (int x = 150; x < 160; ++x) grey(x, y) = 255;
  }
  Mask content(80, 64, 1, 255);
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 20; ++x) content(x, y) = 0;
  }
  const std::vector<Eigen::Vector2i> corners = FindCorners(MakeFinePicture(grey), content, {.count = 200});
  EXPECT_GT(corners.size(), 60U);
  EXPECT_LT(corners.size(), 260U);
  for (size_t i = 0; i < corners.size(); ++i) {
    EXPECT_GE(corners[i].x(), 80);
    EXPECT_FALSE(corners[i].x() > 143 && corners[i].x() < 167 && corners[i].y() > 93 && corners[i].y() < 117);
    for (size_t j = 0; j < i; ++j) EXPECT_GT((corners[i] - corners[j]).norm(), 5);
  }
}

TEST(Corners, NeedContrastInBothDirections) {
  Image<uint8_t> stripes(kWidth, kHeight);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) stripes(x, y) = static_cast<uint8_t>(100 + 30 * std::sin(0.3 * x));
  }
  const Mask content(80, 64, 1, 255);
  EXPECT_TRUE(FindCorners(MakeFinePicture(stripes), content).empty());
  EXPECT_TRUE(FindCorners(MakeFinePicture(Image<uint8_t>(kWidth, kHeight, 1, 100)), content).empty());
  EXPECT_TRUE(FindCorners(MakeFinePicture(Image<uint8_t>(8, 8, 1, 100), 1), content).empty());
}

TEST(PatchAlignment, FindsAShiftToAFractionOfAPixel) {
  const Rigid3 aside(Eigen::Quaterniond::Identity(), {-2.3 * kDepth / 250, 1.6 * kDepth / 250, 0});
  const FinePicture source = MakeFinePicture(Render(Rigid3(), 0));
  const FinePicture target = MakeFinePicture(Render(aside, 0));
  int found = 0;
  for (double u = 40; u < 280; u += 13) {
    const Eigen::Vector2d pixel(u, 0.8 * u);
    const auto fit = AlignPatch(source, pixel, target, {pixel});
    if (!fit) continue;
    ++found;
    EXPECT_NEAR((fit->centre - pixel - Eigen::Vector2d(2.3, -1.6)).norm(), 0, 0.2) << u;
    EXPECT_GT(fit->likeness, 0.95);
    EXPECT_LT(ShiftOfPatch(target, fit->centre, source, {pixel}).value(), 0.1);
  }
  EXPECT_GT(found, 12);
}

TEST(PatchAlignment, RefusesWhatIsNotThere) {
  const FinePicture source = MakeFinePicture(Render(Rigid3(), 0));
  const FinePicture empty = MakeFinePicture(Image<uint8_t>(kWidth, kHeight, 1, 90));
  const Rigid3 elsewhere(Eigen::Quaterniond::Identity(), {30, 0, 0});
  const FinePicture other = MakeFinePicture(Render(elsewhere, 0));
  int mistaken = 0;
  for (double u = 40; u < 280; u += 5) {
    const Eigen::Vector2d pixel(u, 0.8 * u);
    EXPECT_FALSE(AlignPatch(source, pixel, empty, {pixel}));
    mistaken += AlignPatch(source, pixel, other, {pixel}) ? 1 : 0;
  }
  EXPECT_LT(mistaken, 5);
  EXPECT_FALSE(AlignPatch(source, {2, 2}, source, {{2, 2}}));  // leaves the picture
  EXPECT_FALSE(AlignPatch(source, {90, 90}, source, {{90, 90}, 9 * Eigen::Matrix2d::Identity()}));
  EXPECT_FALSE(AlignPatch(source, {90, 90}, source, {{90, 90}, Eigen::Matrix2d::Zero()}));
  EXPECT_FALSE(AlignPatch(source, {90, 90}, source, {{NAN, 90}}));
}

// Seen through a zoom, a turn and a light that falls off, each point is where geometry says.
TEST(PointMatching, SeesPointsWhereTheyAre) {
  const TwoViews views;
  const PointSet first = FindPoints(views.first, views.options);
  const PointSet second = FindPoints(views.second, views.options);
  EXPECT_EQ(first.times, 4);
  ASSERT_GT(first.points.size(), 60U);
  const Rigid3 second_from_first = views.pose.Inverse();
  // The guess is off by a pixel of the view: depth too large by 3 %.
  DepthImage depth = views.first.depth.average;
  for (size_t i = 0; i < depth.Size(); ++i) depth.Data()[i] *= 1.03F;
  const auto sightings =
      SeePoints({&first, &depth}, {&second, &views.second.depth.average}, second_from_first, views.options);
  EXPECT_GT(sightings.size(), first.points.size() / 2);
  std::vector<double> errors;
  for (const Sighting& sighting : sightings) {
    const Eigen::Vector2d pixel = first.points[static_cast<size_t>(sighting.point)].cast<double>();
    const auto truth = second.camera.Project(second_from_first *
                                             (kDepth * first.camera.RayAtUnitDepth(pixel.x(), pixel.y())));
    ASSERT_TRUE(truth);
    errors.push_back((sighting.pixel - *truth).norm());
    EXPECT_GT(sighting.covariance.determinant(), 0);
  }
  std::sort(errors.begin(), errors.end());
  EXPECT_LT(errors[errors.size() / 2], 0.15);
  EXPECT_LT(errors[errors.size() * 9 / 10], 0.5);
  EXPECT_LT(errors.back(), 2);
}

TEST(PointMatching, NothingWhereSomethingStandsBefore) {
  const TwoViews views;
  const PointSet first = FindPoints(views.first, views.options);
  const PointSet second = FindPoints(views.second, views.options);
  DepthImage near = views.second.depth.average;
  for (size_t i = 0; i < near.Size(); ++i) near.Data()[i] *= 0.5F;
  EXPECT_TRUE(
      SeePoints({&first, &views.first.depth.average}, {&second, &near}, views.pose.Inverse()).empty());
}

TEST(PointMatching, NoPointsOnEdgesOfFoldsNorWithoutAFinePicture) {
  TwoViews views;
  for (int y = 0; y < 64; ++y) {
    for (int x = 40; x < 80; ++x) views.first.depth.average(x, y) *= 1.5F;
  }
  const PointSet points = FindPoints(views.first, views.options);
  EXPECT_GT(points.points.size(), 40U);
  for (const Eigen::Vector2i& point : points.points) EXPECT_TRUE(point.x() / 4 < 38 || point.x() / 4 > 41);
  const PointSet none = FindPoints({views.first.frame, views.first.depth}, views.options);
  EXPECT_EQ(none.times, 0);
  EXPECT_TRUE(none.points.empty());
}

}  // namespace
}  // namespace lumen
