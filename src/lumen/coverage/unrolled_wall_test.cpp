#include "lumen/coverage/unrolled_wall.h"

#include <gtest/gtest.h>

#include "lumen/coverage/tube_world_test.h"

namespace lumen {
namespace {

using Eigen::Vector3d;

constexpr float kWayLength = 8;
constexpr double kHoleFrom = 3, kHoleTo = 5, kHoleAngle = 1, kHoleReach = 0.5;

// Wider towards the far end.
double ConeRadius(double z, double) { return 1 + 0.05 * z; }

bool InHole(const Vector3d& p) {
  return p.z() > kHoleFrom && p.z() < kHoleTo && AngleBetween(AngleOf(p), kHoleAngle) < kHoleReach;
}

UnrolledWall Close(const TriangleMesh& surface, const ViewList& views = {}) {
  return CloseWall(AxisOf(0, kWayLength), TriangleTree(surface), views, 2);
}

// Calls `visit(point, radius, found)` at every node.
template <typename Visit>
void ForEachNode(const UnrolledWall& wall, const Visit& visit) {
  for (int row = 0; row < wall.Rows(); ++row)
    for (int k = 0; k < wall.Directions(); ++k)
      visit(Vector3d(wall.PointAt(k, row).cast<double>()), static_cast<double>(wall.radius(k, row)),
            wall.found(k, row) != 0);
}

TEST(UnrolledWall, LiesRoundTheWay) {
  UnrolledWall wall = UnrollWay(AxisOf(2, 10));
  EXPECT_NEAR(wall.row_step * static_cast<float>(wall.Rows() - 1), 8, 1e-4);
  for (int k = 0; k < wall.Directions(); ++k) wall.radius(k, wall.Rows() / 2) = 3;
  const Vector3d p = wall.PointAt(7, wall.Rows() / 2).cast<double>();
  EXPECT_NEAR(p.head<2>().norm(), 3, 1e-4);
  EXPECT_NEAR(p.z(), 2 + static_cast<double>(wall.row_step) * (wall.Rows() / 2), 1e-3);
  const CurvePoint at = wall.way.At(0);
  EXPECT_LT((DirectionRound(at, 0, 120) - at.normal).norm(), 1e-6F);
  EXPECT_LT((DirectionRound(at, 30, 120) - at.binormal).norm(), 1e-6F);
}

TEST(UnrolledWall, AHoleIsFilledFromWhatIsAboutIt) {
  const TriangleMesh tube = MakeTube(ConeRadius, -1, 9, 0.05);
  const UnrolledWall wall = Close(Keep(tube, [](const Vector3d& p) { return !InHole(p); }));
  int holes = 0;
  ForEachNode(wall, [&](const Vector3d& p, double radius, bool found) {
    const bool near_edge = InHole({p.x(), p.y(), p.z() + 0.1}) != InHole({p.x(), p.y(), p.z() - 0.1}) ||
                           std::abs(AngleBetween(AngleOf(p), kHoleAngle) - kHoleReach) < 0.08;
    if (!near_edge) {
      EXPECT_EQ(found, !InHole(p)) << p.transpose();
    }
    holes += found ? 0 : 1;
    EXPECT_NEAR(radius / ConeRadius(p.z(), 0), 1, found ? 2e-3 : 0.03) << p.transpose();
  });
  EXPECT_NEAR(holes, wall.Rows() * 2 / 8 * wall.Directions() / (2 * M_PI), 90);
}

TEST(UnrolledWall, WithoutAnySurfaceItIsStillFinite) {
  const UnrolledWall wall = Close(MakePlate({50, 0, 100}, {1, 0, 0}, {0, 1, 0}));
  ForEachNode(wall, [](const Vector3d& p, double, bool found) {
    EXPECT_FALSE(found);
    EXPECT_TRUE(p.allFinite());
  });
}

TEST(UnrolledWall, ABackOrWhatIsFarBeyondTheUsualIsNotTheWall) {
  TriangleMesh tube = MakeTube(
      [](double z, double angle) { return z > 3 && z < 5 && AngleBetween(angle, 1) < 0.5 ? 6 : 1; }, -1, 9);
  const UnrolledWall far = Close(tube);
  const auto in_middle = [](const Vector3d& p) {
    return p.z() > 3.2 && p.z() < 4.8 && AngleBetween(AngleOf(p), 1) < 0.4;
  };
  ForEachNode(far, [&](const Vector3d& p, double radius, bool found) {
    if (!in_middle(p)) return;
    EXPECT_FALSE(found);
    EXPECT_LT(radius, 4);
  });
  // The same part turned round.
  tube = MakeTube(RoundTube(1), -1, 9);
  const std::vector<WallPiece> pieces = PiecesOf(tube);
  for (size_t i = 0; i < pieces.size(); ++i)
    if (InHole(pieces[i].middle)) std::swap(tube.triangles[i][0], tube.triangles[i][1]);
  ForEachNode(Close(tube), [&](const Vector3d& p, double, bool found) {
    if (!in_middle(p)) return;
    EXPECT_FALSE(found);
  });
}

// A sheet half way to the wall, which depth maps look through.
TEST(UnrolledWall, MembranesThatMapsSeeThroughArePassedThrough) {
  const TriangleMesh tube = MakeTube(RoundTube(1), -1, 14);
  const TriangleMesh sheet = MakePlate({0.5, -0.2, 3}, {0, 0, 2}, {0, 0.4, 0}, 10);
  ASSERT_LT(PiecesOf(sheet)[0].normal.x(), 0);
  const TriangleMesh surface = Together(tube, sheet);
  const auto nearest = [](const UnrolledWall& wall) {
    double least = 9;
    ForEachNode(wall, [&](const Vector3d&, double radius, bool) { least = std::min(least, radius); });
    return least;
  };
  EXPECT_NEAR(nearest(Close(surface)), 0.5, 0.01) << "nobody says that it is not there";
  std::vector<Rigid3> poses;
  for (int z = 0; z < 8; ++z) poses.push_back(PoseOnAxis(0.7 * z));
  const Camera camera = Camera::FromFieldOfView(100, 80, 80);
  const UnrolledWall seen_through = Close(surface, RenderViews(TriangleTree(tube), camera, poses));
  EXPECT_GT(nearest(seen_through), 0.99);
  ForEachNode(seen_through, [](const Vector3d&, double, bool found) { EXPECT_TRUE(found); });
  EXPECT_NEAR(nearest(Close(surface, RenderViews(TriangleTree(surface), camera, poses))), 0.5, 0.01)
      << "where maps show it, it stays";
}

TEST(MeshWalls, FaceTheirWays) {
  const UnrolledWall one = Close(MakeTube(ConeRadius, -1, 9));
  UnrolledWall other = one;
  std::vector<Eigen::Vector3f> across;
  for (const float x : {20.0F, 24.0F, 28.03F}) across.emplace_back(x, 0.0F, 0.0F);
  other.way = ArcCurve(across, 0.1F);
  const TriangleMesh mesh = MeshWalls({one, other});
  const auto of_one = static_cast<size_t>(2 * one.Directions() * (one.Rows() - 1));
  ASSERT_EQ(mesh.triangles.size(), 2 * of_one);
  const std::vector<WallPiece> pieces = PiecesOf(mesh);
  double area = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    Vector3d outwards = pieces[i].middle;
    outwards[i < of_one ? 2 : 0] = 0;
    EXPECT_LT(pieces[i].normal.dot(outwards), 0);
    area += i < of_one ? pieces[i].area : 0;
  }
  EXPECT_NEAR(area, 2 * M_PI * 1.2 * 8, 0.3);
}

}  // namespace
}  // namespace lumen
