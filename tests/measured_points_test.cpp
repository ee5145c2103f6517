#include "lumen/apps/measured_points.h"

#include <gtest/gtest.h>

namespace lumen {
namespace {

using Eigen::Vector3d;

// A wall at z = 10 that faces the cameras, which stand 2 apart and look along z.
TriangleMesh Wall() {
  TriangleMesh mesh;
  mesh.vertices = {{-50, -50, 10}, {50, -50, 10}, {50, 50, 10}, {-50, 50, 10}};
  mesh.triangles = {{0, 2, 1}, {0, 3, 2}};
  return mesh;
}

ExportedScene Scene(const std::vector<Vector3d>& points, double apart) {
  ExportedScene scene;
  scene.camera = Camera(PinholeCamera{200, 200, 160, 128}, 320, 256);
  for (const double x : {-apart / 2, apart / 2})
    scene.images.push_back({"", Rigid3(Eigen::Quaterniond::Identity(), Vector3d(x, 0, 0)), {}, false});
  for (const Vector3d& point : points) scene.points.push_back({point, {}, 0, {{0, 0}, {1, 0}}});
  return scene;
}

TEST(MeasuredPoints, KnowTheirWallAndWhereTheyWereSeenFrom) {
  const SurfacePoints points = PointsOnSurface(Scene({{1, 2, 10.1}}, 2), 0.4, Wall());
  ASSERT_EQ(points.Size(), 1U);
  EXPECT_TRUE(points.points[0].isApprox(Vector3d(1, 2, 10.1)));
  EXPECT_TRUE(points.normals[0].isApprox(Vector3d(0, 0, -1), 1e-6));
  EXPECT_TRUE(points.seen_from[0].isZero(1e-12));
}

// Two rays, 0.4 pixels of 1/200 each: depth is uncertain by sqrt(2) z^2 0.4 / 200 / apart, and by 2 % of the
// distance besides.
TEST(MeasuredPoints, WeighByHowTheRaysMeet) {
  for (const double apart : {1.0, 2.0, 4.0}) {
    const SurfacePoints points = PointsOnSurface(Scene({{0, 0, 10}}, apart), 0.4, Wall());
    ASSERT_EQ(points.Size(), 1U);
    const double along = std::sqrt(2) * 100 * 0.4 / 200 / apart;
    EXPECT_NEAR(1 / points.weights[0], std::hypot(along, 0.2), 0.02 * along);
  }
}

TEST(MeasuredPoints, FarFromAnyWallOrHardlyMeetingTheyAreLeftOut) {
  EXPECT_EQ(PointsOnSurface(Scene({{0, 0, 8}, {0, 0, 13}}, 2), 0.4, Wall()).Size(), 0U);
  EXPECT_EQ(PointsOnSurface(Scene({{0, 0, 10}}, 0.2), 0.4, Wall()).Size(), 0U);
  EXPECT_EQ(PointsOnSurface(Scene({{0, 0, 10}}, 0), 0.4, Wall()).Size(), 0U);
}

TEST(MeasuredPoints, ARunWithoutPicturesHasNone) {
  RunFolder run;
  run.path = testing::TempDir();
  EXPECT_EQ(MeasureRunPoints(run, Wall()).Size(), 0U);
}

}  // namespace
}  // namespace lumen
