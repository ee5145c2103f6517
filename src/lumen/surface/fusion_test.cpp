#include "lumen/surface/fusion.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lumen/surface/mesh_tools.h"
#include "lumen/surface/surface_world_test.h"
#include "lumen/surface/tsdf_volume.h"

namespace lumen {
namespace {

using Eigen::Vector3d;

constexpr int kWidth = 80, kHeight = 64;
const UnifiedCamera kCamera{50, 50, 39.5, 31.5};

// What a camera sees of a hollow ball of radius 20 about the origin, from within.
DepthView SeeBall(const Rigid3& world_from_camera, const UnifiedCamera& camera = kCamera) {
  DepthView view{camera, world_from_camera, DepthImage(kWidth, kHeight), RgbImage(kWidth, kHeight, 3, 200)};
  const Vector3d c = world_from_camera.Translation();
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      const Vector3d ray = world_from_camera.Rotation() * camera.RayAtUnitDepth(x, y);
      const double b = ray.dot(c), a = ray.squaredNorm();
      view.depth(x, y) = static_cast<float>((-b + std::sqrt(b * b - a * (c.squaredNorm() - 400))) / a);
    }
  }
  return view;
}

ViewList BallViews() {
  return {12, [](int i) { return SeeBall(Rigid3(ExpSO3({0.5 * i, 1.1 * i, 0}), Vector3d(0.3 * i, -2, 1))); }};
}

TEST(Fusion, AHollowBallComesBack) {
  const FusionResult result = FuseViews(BallViews(), {}, 1);
  ASSERT_EQ(result.status, FusionStatus::kOk);
  EXPECT_NEAR(result.voxel, 20.0 / 50, 0.15);
  double sum = 0;
  for (size_t i = 0; i < result.mesh.vertices.size(); ++i) {
    const Vector3d p = result.mesh.vertices[i].cast<double>();
    sum += std::abs(p.norm() - 20);
    EXPECT_LT(p.normalized().dot(result.mesh.normals[i].cast<double>()), -0.9);  // towards the camera
  }
  EXPECT_LT(sum / static_cast<double>(result.mesh.vertices.size()), 0.02);
}

TEST(Fusion, AHollowBallComesBackThroughAFisheye) {
  const UnifiedCamera fisheye{33, 33, 39.5, 31.5, 0.62};  // 140° from side to side
  const ViewList views{
      12, [&](int i) {
        return SeeBall(Rigid3(ExpSO3({0.5 * i, 1.1 * i, 0}), Vector3d(0.3 * i, -2, 1)), fisheye);
      }};
  const FusionResult result = FuseViews(views, {}, 1);
  ASSERT_EQ(result.status, FusionStatus::kOk);
  double sum = 0;
  for (const Eigen::Vector3f& vertex : result.mesh.vertices)
    sum += std::abs(static_cast<double>(vertex.norm()) - 20);
  EXPECT_LT(sum / static_cast<double>(result.mesh.vertices.size()), 0.05);
  // Twelve such views show nearly the whole ball.
  EXPECT_GT(ComputeArea(result.mesh), 0.85 * 4 * M_PI * 400);
}

TEST(Fusion, WhereViewsDisagreeTheSurfaceLiesBetweenThem) {
  const ViewList exact = BallViews();
  // Each place is to be seen as often too near as too far: every view twice.
  const ViewList twice{2 * exact.count, [&](int i) {
                         DepthView view = exact.load(i / 2);
                         for (size_t k = 0; k < view.depth.Size(); ++k)
                           view.depth.Data()[k] *= i % 2 == 0 ? 1.05F : 0.95F;
                         return view;
                       }};
  const FusionResult result = FuseViews(twice, {}, 1);
  ASSERT_EQ(result.status, FusionStatus::kOk);
  double sum = 0;
  for (const auto& vertex : result.mesh.vertices) sum += vertex.cast<double>().norm();
  EXPECT_NEAR(sum / static_cast<double>(result.mesh.vertices.size()), 20, 0.2);
}

TEST(TsdfVolume, AVoxelBesideTheLensIsNotReadFromThePicture) {
  // A wall three voxels ahead: its blocks hold voxels in the plane of the lens, whose pixels no integer
  // holds.
  for (const double z : {0.4999999, 0.9999999, 0.49999997, 0.99999994}) {
    TsdfVolume volume(1, 4);
    DepthView view{kCamera, Rigid3(Eigen::Quaterniond::Identity(), Vector3d(0.2, 0.1, z)),
                   DepthImage(kWidth, kHeight, 1, 3), RgbImage()};
    volume.Integrate(view, {.reference_depth = 3}, 1);
    for (const auto& vertex : volume.ExtractMesh(0.01, 1).vertices) EXPECT_NEAR(vertex.z(), z + 3, 0.1);
  }
}

TEST(TsdfVolume, RemembersWhatASurfaceWasSeenFrom) {
  TsdfVolume volume(0.5, 3);
  for (const double x : {0.0, 1.0}) {
    const Rigid3 camera(Eigen::Quaterniond::Identity(), Vector3d(x, 0.2, 0.1));
    volume.Integrate({kCamera, camera, DepthImage(kWidth, kHeight, 1, 20), RgbImage()}, {}, 1);
  }
  const TriangleMesh mesh = volume.ExtractMesh(1e-6, 1);
  ASSERT_FALSE(mesh.vertices.empty());
  const std::vector<Vector3d> seen_from = SeenFrom(mesh);
  size_t both = 0;
  for (size_t i = 0; i < seen_from.size(); ++i) {
    EXPECT_NEAR(seen_from[i].y(), 0.2, 1e-5);
    EXPECT_NEAR(seen_from[i].z(), 0.1, 1e-5);
    if (mesh.vertices[i].head<2>().norm() < 3) {
      EXPECT_NEAR(seen_from[i].x(), 0.5, 0.05);
      ++both;
    }
  }
  EXPECT_GT(both, 10U);
}

TEST(Fusion, EveryVertexHasColourConfidenceAndObservations) {
  const TriangleMesh mesh = FuseViews(BallViews(), {}, 1).mesh;
  ASSERT_EQ(mesh.colors.size(), mesh.vertices.size());
  ASSERT_EQ(mesh.attributes.size(), 5U);
  float most = 0;
  for (size_t i = 0; i < mesh.vertices.size(); ++i) {
    EXPECT_NEAR(mesh.colors[i][1], 200, 1);
    EXPECT_GT(mesh.attributes[0].values[i], 0);
    EXPECT_LT(mesh.attributes[0].values[i], 1);
    EXPECT_GE(mesh.attributes[1].values[i], 1);
    most = std::max(most, mesh.attributes[1].values[i]);
  }
  EXPECT_GE(most, 4);
}

TEST(Fusion, TheUnitDoesNotMatter) {
  ViewList small = BallViews();
  small.load = [](int i) {
    DepthView view = BallViews().load(i);
    for (size_t k = 0; k < view.depth.Size(); ++k) view.depth.Data()[k] *= 0.01F;
    view.world_from_camera =
        Rigid3(view.world_from_camera.Rotation(), 0.01 * view.world_from_camera.Translation());
    return view;
  };
  const FusionResult a = FuseViews(BallViews(), {}, 1), b = FuseViews(small, {}, 1);
  EXPECT_NEAR(b.voxel, 0.01 * a.voxel, 1e-6);
  EXPECT_NEAR(static_cast<double>(b.mesh.vertices.size()), static_cast<double>(a.mesh.vertices.size()),
              0.01 * static_cast<double>(a.mesh.vertices.size()));
}

TEST(Fusion, ThreadsChangeNothing) {
  const TriangleMesh one = FuseViews(BallViews(), {}, 1).mesh, three = FuseViews(BallViews(), {}, 3).mesh;
  EXPECT_EQ(one.vertices, three.vertices);
  EXPECT_EQ(one.triangles, three.triangles);
}

TEST(Fusion, LittleMemoryMakesLargerVoxels) {
  const FusionResult free = FuseViews(BallViews(), {}, 1);
  FusionOptions tight;
  tight.memory_mb = static_cast<double>(free.memory_bytes) / 2.5e6;
  const FusionResult small = FuseViews(BallViews(), tight, 1);
  EXPECT_GT(small.voxel, 1.2 * free.voxel);
  EXPECT_LE(small.memory_bytes, free.memory_bytes / 2);
  EXPECT_EQ(small.status, FusionStatus::kOk);
}

TEST(Fusion, MapsWithoutDepthGiveNoSurface) {
  const ViewList blank{3, [](int) { return DepthView{kCamera, {}, DepthImage(kWidth, kHeight), {}}; }};
  EXPECT_EQ(FuseViews(blank, {}, 1).status, FusionStatus::kNoDepth);
  EXPECT_EQ(FuseViews({}, {}, 1).status, FusionStatus::kNoDepth);
}

// A wall at 10 with a post before it: between the two there is nothing.
TEST(Fusion, NothingIsSpannedBetweenNearAndFar) {
  const ViewList views{1, [](int) {
                         DepthView view{kCamera, {}, DepthImage(kWidth, kHeight, 1, 10.0F), {}};
                         for (int y = 0; y < kHeight; ++y)
                           for (int x = 30; x < 50; ++x) view.depth(x, y) = 5;
                         return view;
                       }};
  for (const auto& vertex : FuseViews(views, {}, 1).mesh.vertices)
    EXPECT_TRUE(std::abs(vertex.z() - 10) < 0.1 || std::abs(vertex.z() - 5) < 0.1) << vertex.z();
}

// The bar: a run with true depth and poses lies within 0.1 mm, mean, of the model.
class FusedAnatomy : public ::testing::TestWithParam<AnatomyKind> {};

TEST_P(FusedAnatomy, LiesOnTheModel) {
  const SimulatedSequence sequence(SmallSequence(GetParam(), 3, 120));
  const FusionResult result = FuseViews(TrueViews(sequence, 4), {}, 2);
  ASSERT_EQ(result.status, FusionStatus::kOk);
  EXPECT_GT(result.mesh.triangles.size(), 3000U);
  EXPECT_LT(MeanDistance(result.mesh, sequence.Surface()), 0.1);
}

INSTANTIATE_TEST_SUITE_P(All, FusedAnatomy,
                         ::testing::Values(AnatomyKind::kNasal, AnatomyKind::kColon, AnatomyKind::kBronchus,
                                           AnatomyKind::kStomach),
                         [](const auto& kind) { return AnatomyName(kind.param); });

}  // namespace
}  // namespace lumen
