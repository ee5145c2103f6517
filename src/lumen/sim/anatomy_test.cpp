#include "lumen/sim/anatomy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lumen/base/error.h"
#include "lumen/sim/sim_test_scene.h"

namespace lumen {
namespace {

using Eigen::Vector3f;

TEST(AnatomyName, ParsesAndSuggests) {
  for (const AnatomyKind kind : kAllAnatomies) EXPECT_EQ(ParseAnatomyKind(AnatomyName(kind)), kind);
  try {
    ParseAnatomyKind("colan");
    FAIL() << "no such anatomy";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean \"colon\""), std::string::npos) << error.what();
  }
  EXPECT_THROW(ParseAnatomyKind(""), InputError);
}

class EveryAnatomy : public testing::TestWithParam<std::string> {
 protected:
  AnatomyKind Kind() const { return ParseAnatomyKind(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Sim, EveryAnatomy, testing::ValuesIn(AnatomyNames()),
                         [](const auto& test) { return test.param; });

TEST_P(EveryAnatomy, IsAFunctionOfItsSeedAlone) {
  const auto first = MakeAnatomy(Kind(), 7, 1);
  const auto second = MakeAnatomy(Kind(), 7, 2);
  EXPECT_EQ(first->Field().CoarseValues(), second->Field().CoarseValues());
  EXPECT_EQ(ExportSurface(*first).vertices, ExportSurface(*second).vertices);
  const auto other = MakeAnatomy(Kind(), 8, 2);
  EXPECT_NE(first->Field().CoarseValues(), other->Field().CoarseValues());
}

TEST_P(EveryAnatomy, IsSmallAndHasRoutesThatKeepClearOfTheWall) {
  const auto anatomy = SharedAnatomy(Kind(), 2);
  EXPECT_LT(anatomy->Field().MemoryBytes(), 100U << 20);
  ASSERT_FALSE(anatomy->Routes().empty());
  EXPECT_GT(anatomy->Routes().front().Length(), 40);
  for (const ArcCurve& route : anatomy->Routes()) {
    for (const CurvePoint& point : route.Points()) {
      ASSERT_GE(anatomy->Distance(point.position), anatomy->Clearance());
    }
  }
}

TEST(Nasal, PassagesAreNarrowSlits) {
  // Width across the passage at the inferior turbinate's height: a few millimetres either side of it.
  for (const uint64_t seed : {1U, 2U, 3U}) {
    const auto anatomy = SharedAnatomy(AnatomyKind::kNasal, seed);
    std::vector<float> room;
    for (const CurvePoint& point : anatomy->Routes().front().Points())
      room.push_back(anatomy->Distance(point.position));
    std::nth_element(room.begin(), room.begin() + static_cast<int64_t>(room.size() / 2), room.end());
    EXPECT_LT(room[room.size() / 2], 5.0F);
    EXPECT_GT(anatomy->Routes().front().Length(), 60.0F);
  }
}

TEST(Bronchus, RoutesBranch) {
  const auto anatomy = SharedAnatomy(AnatomyKind::kBronchus, 2);
  ASSERT_GE(anatomy->Routes().size(), 8U);
  // All begin at the same place and end far apart.
  const ArcCurve& first = anatomy->Routes().front();
  const ArcCurve& last = anatomy->Routes().back();
  EXPECT_LT((first.At(0).position - last.At(0).position).norm(), 1e-3F);
  EXPECT_GT((first.At(1e6F).position - last.At(1e6F).position).norm(), 10.0F);
}

// Edges that are not run through as often one way as the other: where the wall is open.
int CountOpenEdges(const TriangleMesh& mesh) {
  std::unordered_map<uint64_t, int> balance;
  for (const auto& [a, b, c] : mesh.triangles) {
    for (const auto& [from, to] : {std::pair(a, b), {b, c}, {c, a}}) {
      const auto low = static_cast<uint64_t>(std::min(from, to));
      const auto high = static_cast<uint64_t>(std::max(from, to));
      balance[high << 32 | low] += from < to ? 1 : -1;
    }
  }
  int open = 0;
  for (const auto& [edge, count] : balance) open += count != 0 ? 1 : 0;
  return open;
}

TEST_P(EveryAnatomy, SurfaceIsClosedFacesTheAirAndLiesOnTheZeroLevel) {
  const auto anatomy = SharedAnatomy(Kind(), 2);
  const TriangleMesh mesh = ExportSurface(*anatomy);
  ASSERT_GT(mesh.triangles.size(), 10000U);
  ASSERT_EQ(mesh.normals.size(), mesh.vertices.size());
  EXPECT_EQ(CountOpenEdges(mesh), 0);
  size_t facing = 0;
  for (const auto& [a, b, c] : mesh.triangles) {
    const auto at = [&](int32_t i) { return mesh.vertices[static_cast<size_t>(i)]; };
    const Vector3f normal = (at(b) - at(a)).cross(at(c) - at(a));
    facing += normal.dot(mesh.normals[static_cast<size_t>(a)]) >= 0 ? 1 : 0;
  }
  EXPECT_GT(static_cast<double>(facing), 0.995 * static_cast<double>(mesh.triangles.size()));
  double sum = 0;
  for (const Vector3f& vertex : mesh.vertices) sum += std::abs(anatomy->Distance(vertex));
  EXPECT_LT(sum / static_cast<double>(mesh.vertices.size()), 0.005);
}

}  // namespace
}  // namespace lumen
