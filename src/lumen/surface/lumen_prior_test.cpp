#include "lumen/surface/lumen_prior.h"

#include <gtest/gtest.h>

#include "lumen/surface/model_parts.h"

namespace lumen {
namespace {

using Eigen::Vector3d;
using Eigen::Vector3f;

// A box's six walls; facing inwards unless it stands free.
TriangleMesh MakeBox(const Vector3f& low, const Vector3f& high, bool inwards) {
  TriangleMesh mesh;
  for (int i = 0; i < 8; ++i)
    mesh.vertices.emplace_back((i & 1) != 0 ? high.x() : low.x(), (i & 2) != 0 ? high.y() : low.y(),
                               (i & 4) != 0 ? high.z() : low.z());
  const int quads[6][4] = {{0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4},
                           {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}};
  for (const auto& q : quads) {
    mesh.triangles.push_back({q[0], q[1], q[2]});
    mesh.triangles.push_back({q[0], q[2], q[3]});
  }
  if (inwards) mesh = FlipTriangles(mesh);
  mesh.normals = ComputeVertexNormals(mesh);
  return mesh;
}

TriangleMesh Together(const std::vector<TriangleMesh>& pieces) {
  TriangleMesh all;
  for (const TriangleMesh& piece : pieces) {
    const auto first = static_cast<int32_t>(all.vertices.size());
    all.vertices.insert(all.vertices.end(), piece.vertices.begin(), piece.vertices.end());
    all.normals.insert(all.normals.end(), piece.normals.begin(), piece.normals.end());
    for (auto triangle : piece.triangles) {
      for (int32_t& corner : triangle) corner += first;
      all.triangles.push_back(triangle);
    }
  }
  return all;
}

Sim3 MovedBy(const Vector3d& by) { return {1, Eigen::Quaterniond::Identity(), by}; }

TEST(LumenPrior, APathOutsideOfTheLumenCannotBe) {
  const TriangleMesh room = MakeBox({0, 0, 0}, {20, 20, 60}, true);
  const TriangleTree tree(room);
  std::vector<Vector3d> path;
  for (int i = 0; i < 30; ++i) path.emplace_back(10, 10, 5 + i);
  const LumenPrior prior(SampleSurface(room, 300), {.path = path}, tree);
  EXPECT_EQ(prior.ShareInside(MovedBy({0, 0, 0})), 1);
  EXPECT_EQ(prior.Weigh(MovedBy({0, 0, 0})), 1);
  EXPECT_EQ(prior.ShareInside(MovedBy({30, 0, 0})), 0);
  EXPECT_EQ(prior.Weigh(MovedBy({30, 0, 0})), 0);
  EXPECT_NEAR(prior.ShareInside(MovedBy({0, 0, 40})), 0.5, 0.15) << "half of it beyond the end";
}

TEST(LumenPrior, NobodySeesThroughAWall) {
  // Seen in a room; laid across two rooms whose wall stands between camera and surface.
  const TriangleMesh room = MakeBox({0, 0, 0}, {20, 20, 40}, true);
  SurfacePoints surface = SampleSurface(room, 300);
  surface.seen_from.assign(surface.Size(), Vector3d(10, 10, 20));
  const TriangleTree whole(room);
  const LumenPrior in_the_room(surface, {}, whole);
  EXPECT_EQ(in_the_room.ShareInView(MovedBy({0, 0, 0})), 1);
  const TriangleMesh halves =
      Together({MakeBox({0, 0, 0}, {20, 20, 18}, true), MakeBox({0, 0, 19}, {20, 20, 40}, true)});
  const TriangleTree divided(halves);
  const LumenPrior across(surface, {}, divided);
  EXPECT_LT(across.ShareInView(MovedBy({0, 0, 0})), 0.65);
}

TEST(LumenPrior, NothingKnownForbidsNothing) {
  const TriangleMesh room = MakeBox({0, 0, 0}, {20, 20, 40}, true);
  const TriangleTree tree(room);
  EXPECT_EQ(LumenPrior(SampleSurface(room, 300), {}, tree).Weigh(MovedBy({500, 0, 0})), 1);
}

TEST(ModelParts, WhatStandsFreeBelongsToWhatSurroundsIt) {
  const TriangleMesh model =
      Together({MakeBox({0, 0, 0}, {20, 20, 60}, true), MakeBox({40, 0, 0}, {60, 20, 30}, true),
                MakeBox({8, 8, 20}, {12, 12, 40}, false), MakeBox({80, 0, 0}, {81, 1, 1}, true)});
  for (const bool flipped : {false, true}) {
    const std::vector<TriangleMesh> parts = SplitModel(flipped ? FlipTriangles(model) : model, 0.02);
    ASSERT_EQ(parts.size(), 2U) << "the last is too small";
    EXPECT_EQ(parts[0].triangles.size(), 24U) << "the room and its pillar";
    EXPECT_EQ(parts[1].triangles.size(), 12U);
  }
  EXPECT_EQ(SplitModel(MakeBox({0, 0, 0}, {20, 20, 60}, true), 0.02).size(), 1U);
}

}  // namespace
}  // namespace lumen
