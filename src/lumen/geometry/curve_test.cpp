#include "lumen/geometry/curve.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lumen {
namespace {

using Eigen::Vector3f;

ArcCurve MakeArc(float radius) {
  std::vector<Vector3f> points;
  for (int i = 0; i <= 12; ++i) {
    const float angle = 0.1F * static_cast<float>(i);
    points.emplace_back(radius * (1 - std::cos(angle)), 0, radius * std::sin(angle));
  }
  return {points, 0.5F};
}

TEST(ArcCurve, KeepsLengthAndFrame) {
  const ArcCurve arc = MakeArc(50);
  EXPECT_NEAR(arc.Length(), 1.2F * 50, 0.6F);
  for (float s = 0; s < arc.Length(); s += 3.3F) {
    const CurvePoint point = arc.At(s);
    EXPECT_NEAR(point.tangent.norm(), 1, 1e-5);
    EXPECT_NEAR(point.tangent.dot(point.normal), 0, 1e-4);
    EXPECT_NEAR(point.binormal.dot(point.tangent.cross(point.normal)), 1, 1e-4);
    // On a circle about (50, 0, 0), and in its plane.
    EXPECT_NEAR((point.position - Vector3f(50, 0, 0)).norm(), 50, 0.05);
  }
}

TEST(ArcCurve, ClampsBeyondItsEnds) {
  const ArcCurve arc = MakeArc(50);
  EXPECT_TRUE(arc.At(-5).position.isApprox(arc.At(0).position));
  EXPECT_TRUE(arc.At(1e6F).position.isApprox(arc.Points().back().position));
}

TEST(CurveLocator, FindsTheFootPoint) {
  const CurveLocator locator(MakeArc(50), 20);
  for (float s = 4; s < 56; s += 2.7F) {
    for (const float radius : {1.0F, 8.0F, 15.0F}) {
      for (float angle = 0; angle < 6; angle += 1.1F) {
        const CurvePoint at = locator.Curve().At(s);
        const Vector3f p =
            at.position + radius * (std::cos(angle) * at.normal + std::sin(angle) * at.binormal);
        const CurveLocator::Place place = locator.Locate(p);
        EXPECT_NEAR(place.s, s, 0.1) << radius << " " << angle;
        EXPECT_NEAR(place.radius, radius, 0.05);
        EXPECT_NEAR(place.direction.x(), std::cos(angle), 0.02);
        EXPECT_NEAR(place.direction.y(), std::sin(angle), 0.02);
        EXPECT_EQ(place.overshoot, 0);
      }
    }
  }
}

TEST(CurveLocator, ALongCurveWithAShortReachIsStillFound) {
  const CurveLocator locator(MakeArc(50), 1e-3F);
  const CurvePoint at = locator.Curve().At(20);
  EXPECT_NEAR(locator.Locate(at.position + 1e-3F * at.normal).s, 20, 0.1);
}

TEST(CurveLocator, MeasuresTheOvershootBeyondTheEnds) {
  const CurveLocator locator(MakeArc(50), 20);
  const CurveLocator::Place before = locator.Locate({3, 0, -6});
  EXPECT_NEAR(before.overshoot, -6, 0.3);
  EXPECT_NEAR(before.s, -6, 0.3);
  EXPECT_NEAR(before.radius, 3, 0.4);
}

}  // namespace
}  // namespace lumen
