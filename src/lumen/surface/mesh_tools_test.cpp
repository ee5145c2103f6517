#include "lumen/surface/mesh_tools.h"

#include <gtest/gtest.h>

namespace lumen {
namespace {

// A square of that side in the plane z, facing +z.
void AddSquare(TriangleMesh& mesh, float side, float z) {
  const auto first = static_cast<int32_t>(mesh.vertices.size());
  for (const auto& [x, y] : {std::pair{0, 0}, {1, 0}, {1, 1}, {0, 1}})
    mesh.vertices.emplace_back(side * static_cast<float>(x), side * static_cast<float>(y), z);
  mesh.triangles.push_back({first, first + 1, first + 2});
  mesh.triangles.push_back({first, first + 2, first + 3});
}

TriangleMesh TwoSquares() {
  TriangleMesh mesh;
  AddSquare(mesh, 1, 5);
  AddSquare(mesh, 10, 0);
  mesh.attributes = {{"confidence", {1, 1, 1, 1, 2, 2, 2, 2}}};
  return mesh;
}

TEST(MeshTools, SpecksGoWithAllThatBelongsToThem) {
  const TriangleMesh kept = RemoveSpecks(TwoSquares(), 0.02);
  EXPECT_EQ(kept.vertices.size(), 4U);
  EXPECT_EQ(kept.attributes[0].values, std::vector<float>(4, 2.0F));
  EXPECT_NEAR(ComputeArea(kept), 100, 1e-4);
  EXPECT_EQ(RemoveSpecks(TwoSquares(), 0.005).vertices.size(), 8U);
  EXPECT_EQ(KeepLargestPart(TwoSquares()).vertices.size(), 4U);
  EXPECT_TRUE(RemoveSpecks({}, 0.1).triangles.empty());
}

TEST(MeshTools, SamplesAreSpreadByArea) {
  const SurfacePoints samples = SampleSurface(TwoSquares(), 1010, "confidence");
  ASSERT_NEAR(static_cast<double>(samples.Size()), 1010, 1);
  size_t small = 0, quarter = 0;
  for (size_t i = 0; i < samples.Size(); ++i) {
    const bool is_small = samples.points[i].z() > 1;
    small += is_small ? 1 : 0;
    quarter += !is_small && samples.points[i].x() < 5 && samples.points[i].y() < 5 ? 1 : 0;
    EXPECT_NEAR(samples.normals[i].z(), 1, 1e-6);
    EXPECT_NEAR(samples.weights[i], is_small ? 1 : 2, 1e-6);
  }
  EXPECT_NEAR(static_cast<double>(small), 10, 1);
  EXPECT_NEAR(static_cast<double>(quarter), 250, 15);
}

TEST(MeshTools, FlippedTrianglesFaceTheOtherWay) {
  for (const auto& normal : ComputeVertexNormals(FlipTriangles(TwoSquares())))
    EXPECT_NEAR(normal.z(), -1, 1e-6);
}

}  // namespace
}  // namespace lumen
