#include "lumen/surface/triangle_tree.h"

#include <gtest/gtest.h>

#include "lumen/base/random.h"
#include "lumen/surface/mesh_tools.h"

namespace lumen {
namespace {

using Eigen::Vector3d;

Vector3d RandomPoint(Random& random) {
  const double x = random.Uniform(-1, 1), y = random.Uniform(-1, 1), z = random.Uniform(-1, 1);
  return {x, y, z};
}

TriangleMesh RandomTriangles(int count) {
  Random random(1);
  TriangleMesh mesh;
  for (int i = 0; i < count; ++i) {
    const Vector3d centre = RandomPoint(random);
    for (int k = 0; k < 3; ++k) mesh.vertices.push_back((centre + 0.2 * RandomPoint(random)).cast<float>());
    mesh.triangles.push_back({3 * i, 3 * i + 1, 3 * i + 2});
  }
  return mesh;
}

// The plain twin: fine sampling of every triangle.
double SampledDistance(const TriangleMesh& mesh, const Vector3d& p) {
  double best = 1e9;
  constexpr int kSteps = 60;
  for (const auto& t : mesh.triangles) {
    const auto at = [&](size_t k) { return mesh.vertices[static_cast<size_t>(t[k])].cast<double>(); };
    for (int i = 0; i <= kSteps; ++i)
      for (int j = 0; i + j <= kSteps; ++j)
        best =
            std::min(best, (at(0) + (at(1) - at(0)) * i / kSteps + (at(2) - at(0)) * j / kSteps - p).norm());
  }
  return best;
}

TEST(TriangleTree, FindsTheNearestPlace) {
  const TriangleMesh mesh = RandomTriangles(60);
  const TriangleTree tree(mesh);
  Random random(2);
  for (int i = 0; i < 60; ++i) {
    const Vector3d p = 1.5 * RandomPoint(random);
    const auto hit = tree.FindNearest(p, 100);
    ASSERT_TRUE(hit);
    EXPECT_NEAR(std::sqrt(hit->cost), SampledDistance(mesh, p), 6e-3);
    EXPECT_NEAR((hit->point - p).norm(), std::sqrt(hit->cost), 1e-9);
  }
}

// Triangles of every shape, slivers and such that are flat to a line or a point among them, far from the
// origin.
TEST(TriangleTree, FindsThePlaceThatTestingEveryTriangleFinds) {
  TriangleMesh mesh = RandomTriangles(300);
  for (size_t i = 0; i < 60; ++i) {
    const Eigen::Vector3f a = mesh.vertices[3 * i], b = mesh.vertices[3 * i + 1];
    const float along[] = {0, 0.7F, 1e-3F};
    mesh.vertices[3 * i + 2] = a + along[i % 3] * (b - a);
    if (i % 6 == 0) mesh.vertices[3 * i + 1] = a;
  }
  const Vector3d offset(30, -20, 10);
  for (Eigen::Vector3f& vertex : mesh.vertices) vertex += offset.cast<float>();
  const TriangleTree tree(mesh);
  const std::vector<Eigen::Vector3f> normals = ComputeVertexNormals(mesh);
  Random random(7);
  for (int i = 0; i < 500; ++i) {
    const Vector3d p = offset + 1.3 * RandomPoint(random), n = RandomPoint(random).normalized();
    const double normal_cost = i % 2 == 0 ? 0 : 0.05, reach = i % 5 == 0 ? 0.1 : 100;
    double best = reach * reach;
    for (const auto& t : mesh.triangles) {
      std::array<Vector3d, 3> corners;
      for (size_t k = 0; k < 3; ++k) corners[k] = mesh.vertices[static_cast<size_t>(t[k])].cast<double>();
      const Vector3d weights = NearestOnTriangle(p, corners);
      Vector3d x = Vector3d::Zero(), normal = x;
      for (size_t k = 0; k < 3; ++k) {
        x += weights[static_cast<Eigen::Index>(k)] * corners[k];
        normal += weights[static_cast<Eigen::Index>(k)] * normals[static_cast<size_t>(t[k])].cast<double>();
      }
      best = std::min(best, (x - p).squaredNorm() + normal_cost * (1 - n.dot(normal.normalized())));
    }
    const auto hit = tree.FindLikeliest(p, n, normal_cost, reach);
    ASSERT_EQ(hit.has_value(), best < reach * reach) << i;
    if (hit) {
      EXPECT_NEAR(hit->cost, best, 2e-6 * (1 + best)) << i;
    }
  }
}

TEST(TriangleTree, NothingBeyondReachAndNothingInAnEmptyMesh) {
  const TriangleTree tree(RandomTriangles(10));
  EXPECT_FALSE(tree.FindNearest({50, 0, 0}, 10));
  EXPECT_TRUE(tree.FindNearest({50, 0, 0}, 60));
  EXPECT_FALSE(TriangleTree({}).FindNearest({0, 0, 0}, 10));
}

TEST(TriangleTree, ARayMeetsWhatTestingEveryTriangleFinds) {
  const TriangleMesh mesh = RandomTriangles(200);
  const TriangleTree tree(mesh);
  Random random(3);
  int met = 0;
  for (int i = 0; i < 300; ++i) {
    const Vector3d origin = 1.5 * RandomPoint(random);
    const Vector3d direction = (i % 10 == 0 ? Vector3d(Vector3d::UnitX()) : RandomPoint(random).normalized());
    // The plain twin: the plane of every triangle, and barycentric coordinates in it.
    double best = 1e9;
    for (const auto& t : mesh.triangles) {
      const auto at = [&](size_t k) { return mesh.vertices[static_cast<size_t>(t[k])].cast<double>(); };
      Eigen::Matrix3d system;
      system << at(1) - at(0), at(2) - at(0), -direction;
      const Vector3d solved = system.fullPivLu().solve(origin - at(0));
      if (solved[0] >= 0 && solved[1] >= 0 && solved[0] + solved[1] <= 1 && solved[2] > 0)
        best = std::min(best, solved[2]);
    }
    const auto found = tree.FindFirst(origin, direction);
    ASSERT_EQ(found.has_value(), best < 1e9) << i;
    met += found ? 1 : 0;
    if (found) {
      EXPECT_NEAR(*found, best, 1e-6);
    }
  }
  EXPECT_GT(met, 15);
  EXPECT_FALSE(TriangleTree({}).FindFirst({0, 0, 0}, Vector3d::UnitZ()));
}

// The plain twin: where a ray meets one triangle, from either side; far away if it does not.
double MeetOne(const TriangleMesh& mesh, size_t triangle, const Vector3d& origin, const Vector3d& direction) {
  const auto at = [&](size_t k) {
    return mesh.vertices[static_cast<size_t>(mesh.triangles[triangle][k])].cast<double>();
  };
  Eigen::Matrix3d system;
  system << at(1) - at(0), at(2) - at(0), -direction;
  const Vector3d solved = system.fullPivLu().solve(origin - at(0));
  const bool inside = solved[0] >= 0 && solved[1] >= 0 && solved[0] + solved[1] <= 1;
  return inside && solved[2] > 0 ? solved[2] : 1e9;
}

TEST(TriangleTree, ARayFindsTheFaceThatTestingEveryTriangleFinds) {
  const TriangleMesh mesh = RandomTriangles(200);
  const TriangleTree tree(mesh);
  Random random(5);
  int fronts = 0, backs = 0;
  for (int i = 0; i < 300; ++i) {
    const Vector3d origin = RandomPoint(random), direction = RandomPoint(random).normalized();
    double best = 1e9;
    int nearest = -1;
    for (size_t t = 0; t < mesh.triangles.size(); ++t) {
      const double distance = MeetOne(mesh, t, origin, direction);
      if (distance >= best) continue;
      best = distance;
      nearest = static_cast<int>(t);
    }
    const auto hit = tree.FindFirstFace(origin, direction);
    ASSERT_EQ(hit ? hit->triangle : -1, nearest) << i;
    if (!hit) continue;
    EXPECT_LT((hit->point - (origin + best * direction)).norm(), 1e-6);
    const auto& t = mesh.triangles[static_cast<size_t>(nearest)];
    const auto at = [&](size_t k) { return mesh.vertices[static_cast<size_t>(t[k])].cast<double>(); };
    EXPECT_LT((hit->normal - (at(1) - at(0)).cross(at(2) - at(0)).normalized()).norm(), 1e-4);
    ++(hit->normal.dot(direction) < 0 ? fronts : backs);
  }
  EXPECT_GT(fronts, 10);
  EXPECT_GT(backs, 10);
  EXPECT_FALSE(TriangleTree({}).FindFirstFace({0, 0, 0}, Vector3d::UnitZ()));
}

TEST(TriangleTree, BlocksIsWhetherATriangleLiesBetween) {
  const TriangleMesh mesh = RandomTriangles(200);
  const TriangleTree tree(mesh);
  Random random(6);
  int blocked = 0, freed_by_slack = 0;
  for (int i = 0; i < 400; ++i) {
    const Vector3d from = RandomPoint(random), to = RandomPoint(random);
    const double slack = i % 2 == 0 ? 0 : 0.3;
    const Vector3d direction = (to - from).normalized();
    bool truth = false, without_slack = false;
    for (size_t t = 0; t < mesh.triangles.size(); ++t) {
      const double distance = MeetOne(mesh, t, from, direction);
      without_slack |= distance < (to - from).norm();
      truth |= distance > slack && distance < (to - from).norm();
    }
    ASSERT_EQ(tree.Blocks(from, to, slack), truth) << i;
    blocked += truth ? 1 : 0;
    freed_by_slack += without_slack && !truth ? 1 : 0;
  }
  EXPECT_GT(blocked, 20);
  EXPECT_GT(freed_by_slack, 3);
}

TEST(TriangleTree, NothingBlocksWhatIsNearerThanTheSlackOrInAnEmptyMesh) {
  TriangleMesh wall;
  wall.vertices = {{-9, -9, 1}, {9, -9, 1}, {0, 9, 1}};
  wall.triangles = {{0, 1, 2}};
  const TriangleTree tree(wall);
  const Vector3d below(0, 0, 0), above(0, 0, 2);
  EXPECT_TRUE(tree.Blocks(below, above, 0));
  EXPECT_TRUE(tree.Blocks(above, below, 0.9));
  EXPECT_FALSE(tree.Blocks(below, above, 1.1));
  EXPECT_FALSE(tree.Blocks(below, above, 5));
  EXPECT_FALSE(tree.Blocks(below, {0, 0, 0.9}, 0)) << "behind the end";
  EXPECT_FALSE(tree.Blocks(below, below, 0));
  EXPECT_FALSE(TriangleTree({}).Blocks(below, above, 0));
}

// Two sides of a thin wall: the nearer one faces away from what was seen.
TEST(TriangleTree, PrefersTheSideThatFacesTheSameWay) {
  TriangleMesh wall;
  wall.vertices = {{-9, -9, 0}, {9, -9, 0}, {0, 9, 0}, {-9, -9, -1}, {9, -9, -1}, {0, 9, -1}};
  wall.triangles = {{0, 1, 2}, {3, 5, 4}};  // faces +z, faces −z
  const TriangleTree tree(wall);
  const Vector3d p(0, 0, -0.1);
  EXPECT_NEAR(tree.FindNearest(p, 10)->point.z(), 0, 1e-9);
  EXPECT_NEAR(tree.FindLikeliest(p, -Vector3d::UnitZ(), 4, 10)->point.z(), -1, 1e-9);
  EXPECT_NEAR(tree.FindLikeliest(p, Vector3d::UnitZ(), 4, 10)->point.z(), 0, 1e-9);
}

}  // namespace
}  // namespace lumen
