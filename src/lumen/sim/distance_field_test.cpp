#include "lumen/sim/distance_field.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lumen {
namespace {

using Eigen::Vector3f;

// A ball of air with a small solid ball in it.
class HollowBall : public HollowShape {
 public:
  float Value(const Vector3f& p) const override {
    return std::min(kRadius - p.norm(), (p - Obstacle()).norm() - kObstacle);
  }
  Eigen::AlignedBox3f Bounds() const override { return {Vector3f::Constant(-24), Vector3f::Constant(24)}; }
  static Vector3f Obstacle() { return {0, 0, 8}; }
  static constexpr float kRadius = 20;
  static constexpr float kObstacle = 2;
};

const DistanceField& Ball() {
  static const DistanceField field(HollowBall(), 0.5F, 2);
  return field;
}

TEST(DistanceField, KnowsTheDistanceNearAndFar) {
  const HollowBall shape;
  for (float x = -22; x < 22; x += 1.7F) {
    for (float z = -22; z < 22; z += 1.3F) {
      const Vector3f p(x, 0.3F, z);
      const float truth = shape.Value(p);
      // Near the wall to a hundredth; in open space within the coarse grid's error; in the tissue by sign.
      if (truth > -0.3F && truth < 1.0F) {
        EXPECT_NEAR(Ball().Distance(p), truth, 0.04F) << p.transpose();
      }
      if (truth > 1) {
        EXPECT_NEAR(Ball().Distance(p), truth, 0.2F + 0.12F * truth) << p.transpose();
      }
      if (truth < 0) {
        EXPECT_LT(Ball().Distance(p), 0.02F) << p.transpose();
      }
    }
  }
}

TEST(DistanceField, IsSolidOutsideItsBox) {
  EXPECT_LT(Ball().Distance({100, 0, 0}), 0);
  EXPECT_LT(Ball().Distance({0, -100, 0}), 0);
}

TEST(DistanceField, GradientPointsIntoTheAir) {
  const Vector3f p(0, 20, 0);
  EXPECT_TRUE(Ball().Gradient(p).isApprox(Vector3f(0, -1, 0), 0.02F));
  float outer = 0;
  float inner = 0;
  Ball().Gradient(p, &outer);
  Ball().Gradient({2, 0, 8}, &inner);
  EXPECT_LT(outer, 0);  // the ball's wall curves away
  EXPECT_GT(inner, 0);  // the obstacle bulges into the air
}

TEST(DistanceField, TraceEndsOnTheWall) {
  const HollowBall shape;
  int hits = 0;
  for (float yaw = -3; yaw < 3; yaw += 0.13F) {
    for (float pitch = -1.4F; pitch < 1.4F; pitch += 0.2F) {
      const Ray ray = {{3, -2, 1},
                       {std::sin(yaw) * std::cos(pitch), std::sin(pitch), std::cos(yaw) * std::cos(pitch)}};
      const RayHit hit = Ball().Trace(ray, 100);
      ASSERT_TRUE(hit.hit);
      const Vector3f end = ray.origin + hit.distance * ray.direction;
      EXPECT_NEAR(shape.Value(end), 0, 0.04F);
      EXPECT_NEAR(Ball().Distance(end), 0, 0.01F);
      hits += (end - HollowBall::Obstacle()).norm() < 3 ? 1 : 0;
    }
  }
  EXPECT_GT(hits, 3) << "no ray met the obstacle";
}

TEST(DistanceField, TraceStopsAtItsReach) {
  const RayHit hit = Ball().Trace({{0, 0, 0}, {1, 0, 0}}, 5);
  EXPECT_FALSE(hit.hit);
  EXPECT_GE(hit.distance, 5);
}

TEST(DistanceField, ConeStartsNeverPassTheWall) {
  const Vector3f eye(3, -2, 1);
  for (float yaw = -3; yaw < 3; yaw += 0.17F) {
    const Vector3f middle(std::sin(yaw), 0.1F, std::cos(yaw));
    const float start = Ball().TraceCone({eye, middle.normalized()}, 0.06F, 100);
    for (float turn = 0; turn < 6.2F; turn += 0.7F) {
      const Vector3f aside =
          0.055F * Vector3f(std::cos(yaw) * std::cos(turn), std::sin(turn), -std::sin(yaw) * std::cos(turn));
      const Ray ray = {eye, (middle.normalized() + aside).normalized()};
      EXPECT_GE(Ball().Trace(ray, 100).distance, start - 1e-3F);
    }
  }
}

TEST(DistanceField, LightIsBlockedBehindTheObstacle) {
  const Vector3f wall(0, 0, 19.95F);
  EXPECT_LT(Ball().Transmission({wall, {0, 0, -1}}, 19, 0.5F), 0.01F);
  const Vector3f side(19.95F, 0, 0);
  EXPECT_GT(Ball().Transmission({side, {-1, 0, 0}}, 19, 0.5F), 0.99F);
}

TEST(DistanceField, DoesNotDependOnThreads) {
  const DistanceField one(HollowBall(), 0.8F, 1);
  const DistanceField three(HollowBall(), 0.8F, 3);
  EXPECT_EQ(one.CoarseValues(), three.CoarseValues());
  for (float x = -21; x < 21; x += 0.37F) EXPECT_EQ(one.Distance({x, 1, 2}), three.Distance({x, 1, 2}));
}

}  // namespace
}  // namespace lumen
