#include "lumen/scene/surface_net.h"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <map>
#include <set>

namespace lumen {
namespace {

using Eigen::Vector3f;
using Eigen::Vector3i;

constexpr int kCells = 24;
const Vector3f kCentre(12.3F, 11.8F, 12.1F);
constexpr float kRadius = 8;

// A ball of tissue in air: positive outside.
float BallValue(const Vector3f& p) { return (p - kCentre).norm() - kRadius; }

SurfaceNet MakeBall(int last_z = kCells) {
  SurfaceNet net;
  for (int z = 0; z < last_z; ++z) {
    for (int y = 0; y < kCells; ++y) {
      for (int x = 0; x < kCells; ++x) {
        SurfaceNet::Corners corners;
        for (int i = 0; i < 8; ++i)
          corners[static_cast<size_t>(i)] =
              BallValue(Vector3i(x + (i & 1), y + (i >> 1 & 1), z + (i >> 2 & 1)).cast<float>());
        net.AddCell({x, y, z}, corners);
      }
    }
  }
  return net;
}

std::map<std::pair<int, int>, int> CountEdges(const TriangleMesh& mesh) {
  std::map<std::pair<int, int>, int> edges;
  for (const auto& t : mesh.triangles)
    for (size_t k = 0; k < 3; ++k) ++edges[std::minmax(t[k], t[(k + 1) % 3])];
  return edges;
}

TEST(SurfaceNet, ABallIsClosedOnItsSphereAndFacesTheAir) {
  const TriangleMesh mesh = MakeBall().Build();
  ASSERT_GT(mesh.triangles.size(), 500U);
  for (const Vector3f& vertex : mesh.vertices) EXPECT_NEAR(BallValue(vertex), 0, 0.12);
  for (const auto& [edge, count] : CountEdges(mesh)) EXPECT_EQ(count, 2);
  for (const auto& t : mesh.triangles) {
    const Vector3f &a = mesh.vertices[static_cast<size_t>(t[0])],
                   &b = mesh.vertices[static_cast<size_t>(t[1])],
                   &c = mesh.vertices[static_cast<size_t>(t[2])];
    EXPECT_GE((b - a).cross(c - a).dot(a - kCentre), 0);
  }
}

TEST(SurfaceNet, EndsWhereCellsAreMissing) {
  const TriangleMesh mesh = MakeBall(12).Build();
  ASSERT_GT(mesh.triangles.size(), 200U);
  int open = 0;
  for (const auto& [edge, count] : CountEdges(mesh)) open += count == 1 ? 1 : 0;
  EXPECT_GT(open, 20);
  EXPECT_LT(mesh.triangles.size(), MakeBall().Build().triangles.size());
}

}  // namespace
}  // namespace lumen
