#include "lumen/scene/thin_mesh.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>

namespace lumen {
namespace {

// A unit sphere, in rings, whose attribute is the height.
TriangleMesh Sphere(int rings) {
  TriangleMesh mesh;
  mesh.attributes = {{"height", {}}};
  for (int i = 0; i <= rings; ++i) {
    for (int j = 0; j < 2 * rings; ++j) {
      const double a = M_PI * i / rings, b = M_PI * j / rings;
      mesh.vertices.push_back(
          Eigen::Vector3d(std::sin(a) * std::cos(b), std::sin(a) * std::sin(b), std::cos(a)).cast<float>());
      mesh.attributes[0].values.push_back(mesh.vertices.back().z());
      if (i == rings) continue;
      const int next = (j + 1) % (2 * rings), here = 2 * rings * i, below = here + 2 * rings;
      mesh.triangles.push_back({here + j, below + j, below + next});
      mesh.triangles.push_back({here + j, below + next, here + next});
    }
  }
  return mesh;
}

TEST(ThinMesh, SmallMeshesStayAsTheyAre) {
  const TriangleMesh mesh = Sphere(10);
  EXPECT_EQ(ThinMesh(mesh, {.vertices = mesh.vertices.size()}).vertices, mesh.vertices);
}

TEST(ThinMesh, KeepsTheShapeWithinTheBound) {
  const TriangleMesh thin = ThinMesh(Sphere(200), {.vertices = 5000});
  EXPECT_LE(thin.vertices.size(), 5000U);
  EXPECT_GT(thin.vertices.size(), 2500U);
  ASSERT_EQ(thin.attributes.at(0).values.size(), thin.vertices.size());
  for (size_t i = 0; i < thin.vertices.size(); ++i) {
    EXPECT_NEAR(thin.vertices[i].norm(), 1, 0.01);
    EXPECT_NEAR(thin.attributes[0].values[i], thin.vertices[i].z(), 1e-4);
  }
  double area = 0;
  for (const auto& [a, b, c] : thin.triangles) {
    const auto at = [&](int32_t i) { return thin.vertices.at(static_cast<size_t>(i)); };
    area += 0.5 * (at(b) - at(a)).cross(at(c) - at(a)).norm();
  }
  EXPECT_NEAR(area, 4 * M_PI, 0.1 * 4 * M_PI);
}

TEST(ThinMesh, WhatIsNotFiniteGoes) {
  TriangleMesh mesh = Sphere(10);
  mesh.vertices[30].x() = NAN;
  const TriangleMesh thin = ThinMesh(mesh, {.vertices = 1000});
  for (const Eigen::Vector3f& v : thin.vertices) EXPECT_TRUE(v.allFinite());
  EXPECT_FALSE(thin.triangles.empty());
  for (Eigen::Vector3f& v : mesh.vertices) v.x() = INFINITY;
  EXPECT_TRUE(ThinMesh(mesh, {.vertices = 1000}).vertices.empty());
}

TEST(ThinMesh, AnyBoundCanBeMet) {
  EXPECT_EQ(ThinMesh(Sphere(20), {.vertices = 1}).vertices.size(), 1U);
  TriangleMesh point;
  point.vertices.assign(50, {1, 1, 1});
  EXPECT_EQ(ThinMesh(point, {.vertices = 3}).vertices.size(), 1U);
}

}  // namespace
}  // namespace lumen
