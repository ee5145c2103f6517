#include "lumen/io/board_calibration.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/io/calibration.h"

namespace lumen {
namespace {

constexpr int kWidth = 400, kHeight = 320;

// A picture of a board of 8 by 6 squares (7x5 inner corners) of 10 mm, four samples a pixel.
RawFrame RenderBoard(const Camera& camera, const Rigid3& camera_from_board, int64_t index = 0) {
  RawFrame frame{index, 0, RgbImage(kWidth, kHeight, 3, 90)};
  const Rigid3 board_from_camera = camera_from_board.Inverse();
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      double sum = 0;
      for (const double dx : {-0.25, 0.25}) {
        for (const double dy : {-0.25, 0.25}) {
          const auto ray = camera.Unproject({x + dx, y + dy});
          if (!ray) continue;
          const Eigen::Vector3d d = board_from_camera.Rotation() * *ray;
          const Eigen::Vector3d o = board_from_camera.Translation();
          const Eigen::Vector3d hit = o - d * (o.z() / d.z());
          const double u = hit.x() / 10 + 1, v = hit.y() / 10 + 1;  // the first inner corner is the origin
          const bool paper = u > -0.5 && v > -0.5 && u < 8.5 && v < 6.5;
          const bool square = u > 0 && v > 0 && u < 8 && v < 6;
          const bool black =
              square && (static_cast<int>(std::floor(u)) + static_cast<int>(std::floor(v))) % 2 == 0;
          sum += !paper ? 90 : black ? 20 : 235;
        }
      }
      for (int c = 0; c < 3; ++c) frame.image(x, y, c) = static_cast<uint8_t>(sum / 4);
    }
  }
  return frame;
}

// The board in the middle of the view, then moved and tilted.
Rigid3 Place(double tilt_x, double tilt_y, double x, double y, double distance) {
  const Rigid3 centred(Eigen::Quaterniond::Identity(), {-30, -20, 0});
  return Rigid3(ExpSO3({tilt_x, tilt_y, 0.1}), {x, y, distance}) * centred;
}

// How the board is held in one picture: tilts in radians, place in mm.
struct Hold {
  double tilt_x, tilt_y, x, y, distance;
};

std::vector<BoardView> FindViews(const Camera& camera, const std::vector<Hold>& holds, double farther = 1) {
  std::vector<BoardView> views;
  int64_t index = 0;
  for (const Hold& hold : holds) {
    const Rigid3 place = Place(hold.tilt_x, hold.tilt_y, hold.x, hold.y, farther * hold.distance);
    if (auto view = FindBoard(RenderBoard(camera, place, index++), {7, 5, 10}))
      views.push_back(std::move(*view));
  }
  return views;
}

class KnownCamera : public ::testing::TestWithParam<Camera::Model> {};

TEST_P(KnownCamera, IsFoundAgainFromItsPicturesOfABoard) {
  const Camera truth(GetParam(), kWidth, kHeight);
  const std::vector<BoardView> views = FindViews(truth, {{0, 0, 0, 0, 70},
                                                         {0.5, 0, -20, -14, 90},
                                                         {-0.5, 0.1, 22, -14, 95},
                                                         {0, 0.5, -22, 16, 95},
                                                         {0.1, -0.5, 22, 15, 90},
                                                         {0.35, 0.35, 0, 0, 80},
                                                         {-0.35, -0.3, 5, 5, 65},
                                                         {0.3, -0.4, -10, 8, 75},
                                                         {0, 0, -26, 0, 90},
                                                         {0.2, 0.1, 26, 2, 90}});
  ASSERT_GE(views.size(), 8U);
  const auto fit = FitCamera(views, {7, 5, 10}, {.model = "auto", .width = kWidth, .height = kHeight});
  ASSERT_TRUE(fit);
  EXPECT_LT(fit->rms, 0.15);
  EXPECT_GT(fit->max_tilt_degrees, 20);
  EXPECT_TRUE(JudgeCalibration(*fit, ComputeCoverage(views, kWidth, kHeight), views.size()).empty());
  // Whatever the model, a direction within the seen part must fall on the same pixel.
  for (const Eigen::Vector3d& ray :
       {Eigen::Vector3d(0, 0, 1), {0.3, 0.2, 1}, {-0.4, 0.25, 1}, {0.35, -0.3, 1}}) {
    const auto expected = truth.Project(ray), got = fit->camera.Project(ray);
    ASSERT_TRUE(expected && got);
    EXPECT_LT((*expected - *got).norm(), 1.0) << ray.transpose();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, KnownCamera,
    ::testing::Values(Camera::Model(PinholeCamera{300, 300, 201, 158}),
                      Camera::Model(RadTanCamera{{300, 302, 198, 161}, {-0.25, 0.06, 0.001, -0.001, 0}}),
                      Camera::Model(KannalaBrandtCamera{{300, 300, 200, 160}, {0.05, -0.02, 0, 0}})));

// Wide lenses, held close to the board as one does with a scope.
class KnownFisheye : public ::testing::TestWithParam<double> {};

TEST_P(KnownFisheye, IsFoundAgainFromItsPicturesOfABoard) {
  const double focal = kWidth / (GetParam() * M_PI / 180);
  const Camera truth(KannalaBrandtCamera{{focal, focal * 1.002, 203, 157}, {-0.05, 0.01, -0.004, 0.0005}},
                     kWidth, kHeight);
  // The narrower, the farther away.
  const std::vector<BoardView> views = FindViews(truth,
                                                 {{0, 0, 0, 0, 30},
                                                  {0.5, 0, -20, -14, 35},
                                                  {-0.5, 0.1, 22, -14, 35},
                                                  {0, 0.5, -22, 16, 35},
                                                  {0.1, -0.5, 22, 15, 35},
                                                  {0.35, 0.35, 0, 0, 28},
                                                  {-0.35, -0.3, 5, 5, 26},
                                                  {0.3, -0.4, -30, 8, 30},
                                                  {0, 0, -35, 0, 32},
                                                  {0.2, 0.1, 38, 2, 32},
                                                  {0, 0, 0, 24, 30},
                                                  {0, 0.2, 0, -26, 30}},
                                                 3.8 * focal / kWidth);
  ASSERT_GE(views.size(), 8U);
  const auto fit = FitCamera(views, {7, 5, 10}, {.model = "auto", .width = kWidth, .height = kHeight});
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->camera.ModelName(), "kannala_brandt");
  EXPECT_LT(fit->rms, 0.25);
  for (const double degrees : {0.0, 15.0, 30.0, 45.0}) {
    const double t = degrees * M_PI / 180;
    const Eigen::Vector3d ray(0.8 * std::sin(t), 0.6 * std::sin(t), std::cos(t));
    const auto expected = truth.Project(ray), got = fit->camera.Project(ray);
    ASSERT_TRUE(expected && got);
    EXPECT_LT((*expected - *got).norm(), 1.0) << degrees;
  }
}

INSTANTIATE_TEST_SUITE_P(Degrees, KnownFisheye, ::testing::Values(110.0, 130.0, 165.0));

TEST(BoardCalibration, NoBoardIsFoundInAnEmptyPicture) {
  EXPECT_FALSE(FindBoard({0, 0, RgbImage(kWidth, kHeight, 3, 128)}, {7, 5, 10}));
}

TEST(BoardCalibration, OneCornerOfThePictureIsPoorCoverage) {
  const Camera camera(PinholeCamera{300, 300, 200, 160}, kWidth, kHeight);
  std::vector<BoardView> views;
  for (const double x : {-20.0, -19.0, -18.0, -17.0}) {
    auto view = FindBoard(RenderBoard(camera, Place(0, 0, x, -10, 170)), {7, 5, 10});
    ASSERT_TRUE(view);
    views.push_back(*view);
  }
  const Coverage coverage = ComputeCoverage(views, kWidth, kHeight);
  EXPECT_LT(coverage.share, 0.5);
  const auto faults = JudgeCalibration({}, coverage, views.size());
  ASSERT_EQ(faults.size(), 3U);
  EXPECT_NE(faults[1].find("poor coverage"), std::string::npos);
}

TEST(BoardCalibration, WhatIsWrittenReadsBack) {
  const TemporaryFolder folder;
  for (const Camera::Model& model :
       {Camera::Model(PinholeCamera{300, 310, 201, 158}),
        Camera::Model(RadTanCamera{{300, 302, 198, 161}, {-0.25, 0.06, 0.001, -0.001, 0.5}}),
        Camera::Model(KannalaBrandtCamera{{240, 241, 200, 160}, {0.03, -0.01, 0.001, 0.002}})}) {
    const Camera camera(model, kWidth, kHeight);
    WriteFileAtomically(folder.Path() / "c.yaml", FormatOpenCvCalibration(camera, {"made by a test"}));
    EXPECT_EQ(LoadCalibration(folder.Path() / "c.yaml"), camera);
  }
}

TEST(BoardCalibration, BoardsThatMakeNoSenseAreRefused) {
  EXPECT_EQ(ParseBoard("9x6", 5).rows, 6);
  for (const char* text : {"9", "9x", "x6", "9x6x2", "2x6", "nine x six", "9x-6"})
    EXPECT_THROW(ParseBoard(text, 5), InputError) << text;
  EXPECT_THROW(ParseBoard("9x6", 0), InputError);
}

}  // namespace
}  // namespace lumen
