#include "lumen/surface/isosurface.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>

namespace lumen {
namespace {

using Eigen::Vector3d;

// A ball of air (−1000) of radius 6 mm in tissue (0), in a grid of 0.5 × 0.5 × 0.8 mm.
Volume Bubble(const Vector3d& axes) {
  Volume volume;
  volume.size = {40, 40, 28};
  volume.lps_from_index.diagonal().head<3>() = axes.cwiseProduct(Vector3d(0.5, 0.5, 0.8));
  volume.lps_from_index.col(3).head<3>() = Vector3d(100, 50, -20);
  for (int z = 0; z < volume.size.z(); ++z) {
    for (int y = 0; y < volume.size.y(); ++y) {
      for (int x = 0; x < volume.size.x(); ++x) {
        const double depth = 6 - Vector3d(0.5 * (x - 19.5), 0.5 * (y - 19.5), 0.8 * (z - 13.5)).norm();
        volume.values.push_back(static_cast<float>(-500 - 500 * std::clamp(depth, -1.0, 1.0)));
      }
    }
  }
  return volume;
}

void ExpectBubble(const Volume& volume) {
  const TriangleMesh mesh = ExtractIsosurface(volume, -500);
  const Vector3d centre = (volume.lps_from_index * Eigen::Vector4d(19.5, 19.5, 13.5, 1)).head<3>();
  ASSERT_GT(mesh.triangles.size(), 1000U);
  for (size_t i = 0; i < mesh.vertices.size(); ++i) {
    const Vector3d out = mesh.vertices[i].cast<double>() - centre;
    EXPECT_NEAR(out.norm(), 6, 0.06);
    EXPECT_LT(out.normalized().dot(mesh.normals[i].cast<double>()), -0.9);  // towards the air
  }
}

TEST(Isosurface, LiesBetweenAirAndTissueAndFacesTheAir) { ExpectBubble(Bubble({1, 1, 1})); }
TEST(Isosurface, AMirroredGridFacesTheAirToo) { ExpectBubble(Bubble({-1, 1, 1})); }

TEST(Isosurface, NoCrossingNoSurface) {
  EXPECT_TRUE(ExtractIsosurface(Bubble({1, 1, 1}), 300).triangles.empty());
}

}  // namespace
}  // namespace lumen
