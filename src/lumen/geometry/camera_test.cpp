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

Camera MakeCamera(const UnifiedCamera*) {
  return {UnifiedCamera{36, 37, 41.5, 30.5, 0.62}, 80, 64};  // 140° from side to side
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

using Models = testing::Types<PinholeCamera, RadTanCamera, KannalaBrandtCamera, OmniCamera, UnifiedCamera>;
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

TEST(Unified, IsThePinholeAtZero) {
  const PinholeCamera pinhole{50, 51, 40, 30};
  const UnifiedCamera camera(pinhole);
  for (const Eigen::Vector3d& x : {Eigen::Vector3d(0.3, -0.2, 1.5), Eigen::Vector3d(-2, 1, 0.7)}) {
    Matrix23d a, b;
    EXPECT_EQ(*pinhole.Project(x, &a), *camera.Project(x, &b));
    EXPECT_LT((a - b).norm(), 1e-12 * a.norm());
    EXPECT_EQ(camera.Depth(x), x.z());
  }
  EXPECT_FALSE(camera.Project({1, 0, -0.1}));
  EXPECT_EQ(camera.RayAtUnitDepth(45, 35).z(), 1);
}

// Each α: rays have depth 1 and land where they came from; ζ and the ray's z have the derivatives they claim.
TEST(Unified, DepthAndRaysBelongTogether) {
  Random random(3);
  for (const double alpha : {0.0, 0.2, 0.5, 0.62, 0.9}) {
    const UnifiedCamera camera{30, 32, 39.5, 31.5, alpha};
    for (int i = 0; i < 100; ++i) {
      const Eigen::Vector2d uv{random.Uniform(20, 60), random.Uniform(20, 45)};
      const Eigen::Vector3d ray = camera.RayAtUnitDepth(uv.x(), uv.y());
      EXPECT_NEAR(camera.Depth(ray), 1, 1e-12);
      EXPECT_LT((*camera.Project(3 * ray) - uv).norm(), 1e-10);
      const auto depth = [&](const Eigen::VectorXd& x) {
        return Eigen::VectorXd::Constant(1, camera.Depth(Eigen::Vector3d(x)));
      };
      EXPECT_LT(RelativeError(camera.DepthJacobian(2 * ray), NumericJacobian(depth, 2 * ray)), 1e-7);
      const auto z = [&](const Eigen::VectorXd& p) {
        const double u = camera.fx * p[0] + camera.cx;
        const double v = camera.fy * p[1] + camera.cy;
        return Eigen::VectorXd::Constant(1, camera.RayAtUnitDepth(u, v).z());
      };
      const Eigen::VectorXd slope = NumericJacobian(z, ray.head<2>()).transpose();
      EXPECT_LT((camera.RayZJacobian(ray).transpose() - slope).norm(), 1e-7);
    }
  }
}

TEST(Unified, PixelsPerAngleAreEvenForAFisheye) {
  const UnifiedCamera camera{1, 1, 0, 0, 0.62};
  const auto radius = [&](double degrees) {
    const double t = degrees * M_PI / 180;
    return camera.Project({std::sin(t), 0, std::cos(t)})->x();
  };
  for (double t = 1; t <= 80; t += 1) EXPECT_NEAR((radius(t) - radius(t - 1)) * 180 / M_PI, 1.0, 0.06) << t;
}

TEST(Unified, NothingBehindItsLimitIsSeen) {
  for (const double alpha : {0.3, 0.62}) {
    const UnifiedCamera camera{30, 30, 40, 32, alpha};
    const double limit = std::acos(-camera.Reach());
    const auto at = [&](double t) { return camera.Project({std::sin(t), 0, std::cos(t)}); };
    EXPECT_TRUE(at(limit - 0.01));
    EXPECT_FALSE(at(limit + 0.01));
    double last = 0;  // farther off the axis is farther out in the picture
    for (double t = 0.1; t < limit; t += 0.1) {
      EXPECT_GT(at(t)->x() - camera.cx, last);
      last = at(t)->x() - camera.cx;
    }
  }
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
