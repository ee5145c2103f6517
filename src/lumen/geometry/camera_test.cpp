#include "lumen/geometry/camera.h"

#include <gtest/gtest.h>

#include "lumen/base/random.h"
#include "lumen/geometry/numeric_jacobian.h"

namespace lumen {
namespace {

Camera MakeCamera(const PinholeCamera*) { return {PinholeCamera{500, 510, 319.5, 240.2}, 640, 480}; }
Camera MakeCamera(const RadTanCamera*) {
  return {RadTanCamera{{520, 515, 320, 238}, {-0.32, 0.11, 1e-3, -5e-4, 0.01}}, 640, 480};
}
Camera MakeCamera(const KannalaBrandtCamera*) {
  return {KannalaBrandtCamera{{280, 281, 318, 241}, {-0.02, 0.004, -0.001, 1e-4}}, 640, 480};
}
Camera MakeCamera(const OmniCamera*) {
  return {OmniCamera{678.544839,
                     542.975888,
                     {769.243600, -8.12770624e-4, 6.25674e-7, -1.196622e-9},
                     {.99998688, .00288274, -.00296317}},
          1350, 1080};
}

template <typename Model>
class CameraRoundTrip : public testing::Test {
 protected:
  Camera camera_ = MakeCamera(static_cast<const Model*>(nullptr));
  Random random_{7};
  Eigen::Vector2d RandomPixel() {
    return {random_.Uniform(0, camera_.Width() - 1), random_.Uniform(0, camera_.Height() - 1)};
  }
};

using Models = testing::Types<PinholeCamera, RadTanCamera, KannalaBrandtCamera, OmniCamera>;
TYPED_TEST_SUITE(CameraRoundTrip, Models);

TYPED_TEST(CameraRoundTrip, ProjectInvertsUnprojectAtAnyDepth) {
  for (int i = 0; i < 500; ++i) {
    const Eigen::Vector2d uv = this->RandomPixel();
    const auto direction = this->camera_.Unproject(uv);
    ASSERT_TRUE(direction) << uv.transpose();
    EXPECT_NEAR(direction->norm(), 1, 1e-12);
    const auto back = this->camera_.Project(this->random_.Uniform(0.1, 100) * *direction);
    ASSERT_TRUE(back) << uv.transpose();
    EXPECT_LT((*back - uv).norm(), 1e-7) << uv.transpose();
  }
}

TYPED_TEST(CameraRoundTrip, ProjectionJacobianMatchesNumericOne) {
  for (int i = 0; i < 100; ++i) {
    const double depth = this->random_.Uniform(0.5, 5);
    const Eigen::Vector3d x = depth * *this->camera_.Unproject(this->RandomPixel());
    Matrix23d analytic;
    ASSERT_TRUE(this->camera_.Project(x, &analytic));
    const auto f = [&](const Eigen::VectorXd& p) -> Eigen::VectorXd {
      return *this->camera_.Project(Eigen::Vector3d(p));
    };
    EXPECT_LT(RelativeError(analytic, NumericJacobian(f, x)), 1e-6);
  }
}

TYPED_TEST(CameraRoundTrip, UnprojectionJacobianMatchesNumericOne) {
  for (int i = 0; i < 100; ++i) {
    const Eigen::Vector2d uv = this->RandomPixel();
    Matrix32d analytic;
    ASSERT_TRUE(this->camera_.Unproject(uv, &analytic));
    const auto f = [&](const Eigen::VectorXd& p) -> Eigen::VectorXd {
      return *this->camera_.Unproject(Eigen::Vector2d(p));
    };
    EXPECT_LT(RelativeError(analytic, NumericJacobian(f, uv, 1e-4)), 1e-6);
  }
}

TYPED_TEST(CameraRoundTrip, ResizingKeepsTheRayOfAPoint) {
  const Camera half = this->camera_.Resized(this->camera_.Width() / 2, this->camera_.Height() / 2);
  for (int i = 0; i < 100; ++i) {
    const Eigen::Vector2d uv = this->RandomPixel();
    const Eigen::Vector2d uv_half = (uv.array() + 0.5) / 2 - 0.5;
    EXPECT_LT((*half.Unproject(uv_half) - *this->camera_.Unproject(uv)).norm(), 1e-9);
  }
}

TYPED_TEST(CameraRoundTrip, PointStraightBehindIsNotSeen) {
  EXPECT_FALSE(this->camera_.Project(Eigen::Vector3d(0, 0, -1)));
  EXPECT_FALSE(this->camera_.Project(Eigen::Vector3d(0, 0, 0)));
}

TEST(Camera, RadTanRefusesPointsBeyondTheFold) {
  const RadTanCamera camera{{500, 500, 320, 240}, {-0.5, 0, 0, 0, 0}};
  EXPECT_TRUE(camera.Project(Eigen::Vector3d(0.5, 0, 1)));
  EXPECT_FALSE(camera.Project(Eigen::Vector3d(1.5, 0, 1)));
}

TEST(Camera, KannalaBrandtSeesBehindNinetyDegrees) {
  const KannalaBrandtCamera camera{{200, 200, 320, 240}, {}};
  const auto uv = camera.Project(Eigen::Vector3d(1, 0, -0.2));
  ASSERT_TRUE(uv);
  EXPECT_NEAR(uv->x(), 320 + 200 * (M_PI / 2 + std::atan(0.2)), 1e-9);
}

TEST(Camera, FieldOfViewIsTheAngleBetweenTheImageEdges) {
  const Camera camera = Camera::FromFieldOfView(77, 160, 128);
  const Eigen::Vector3d left = *camera.Unproject({-0.5, 63.5});
  const Eigen::Vector3d right = *camera.Unproject({159.5, 63.5});
  EXPECT_NEAR(std::acos(left.dot(right)) * 180 / M_PI, 77, 1e-9);
}

}  // namespace
}  // namespace lumen
