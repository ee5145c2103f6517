#include "lumen/coverage/flat_map.h"

#include <gtest/gtest.h>

#include "lumen/coverage/tube_world_test.h"
#include "lumen/coverage/unrolled_wall.h"

namespace lumen {
namespace {

using Eigen::Vector3d;

constexpr double kShade = 0.78;  // of a wall along the way
constexpr double kPatchFrom = 6, kPatchTo = 8, kPatchAngle = -2, kPatchReach = 0.6;

// A tube along a straight way, 12 long and 2 wide, with one part that was not seen, and one from afar.
WallCoverage PatchedTube() {
  WallCoverage coverage;
  coverage.ways = {AxisOf(0, 12)};
  coverage.widths = {2};
  coverage.wall = MakeTube(RoundTube(1), -1, 11);
  for (const WallPiece& piece : PiecesOf(coverage.wall)) {
    const double z = piece.middle.z();
    const bool patch =
        z > kPatchFrom && z < kPatchTo && AngleBetween(AngleOf(piece.middle), kPatchAngle) < kPatchReach;
    coverage.states.push_back(patch   ? PieceState::kNotSeen
                              : z < 0 ? PieceState::kOutside
                              : z < 3 ? PieceState::kAfar
                                      : PieceState::kSeen);
  }
  return coverage;
}

bool HasColor(const RgbImage& picture, int x, int y, PieceState state, double shade) {
  const StateColor color = ColorOf(state);
  for (int c = 0; c < 3; ++c)
    if (std::abs(picture(x, y, c) - shade * color[static_cast<size_t>(c)]) > 3) return false;
  return true;
}

TEST(FlatMap, ShowsEachPartInItsColourAtItsPlace) {
  const WallCoverage coverage = PatchedTube();
  const RgbImage picture = DrawFlatMap(coverage, 0);
  ASSERT_EQ(picture.Width(), 360) << "60 a width";
  ASSERT_EQ(picture.Height(), 180);
  int in_patch = 0;
  for (int x = 0; x < picture.Width(); ++x) {
    const double z = 12 * (x + 0.5) / picture.Width();
    const CurvePoint at = coverage.ways[0].At(static_cast<float>(z));
    for (int y = 0; y < picture.Height(); ++y) {
      const double off = AngleBetween(AngleOf(DirectionRound(at, y, 180).cast<double>()), kPatchAngle);
      const double edge =
          std::min({std::abs(z - kPatchFrom), std::abs(z - kPatchTo), std::abs(z - 3), std::abs(z - 11)});
      if (edge < 0.1 || std::abs(off - kPatchReach) < 0.1) continue;
      const bool patch = z > kPatchFrom && z < kPatchTo && off < kPatchReach;
      in_patch += patch ? 1 : 0;
      const PieceState state = patch    ? PieceState::kNotSeen
                               : z > 11 ? PieceState::kOutside
                               : z < 3  ? PieceState::kAfar
                                        : PieceState::kSeen;
      ASSERT_TRUE(HasColor(picture, x, y, state, z > 11 ? 1 : kShade)) << x << ' ' << y;
    }
  }
  EXPECT_GT(in_patch, 1000);
}

TEST(FlatMap, FoldsHaveABrightSideAndADarkOne) {
  WallCoverage coverage = PatchedTube();
  coverage.wall = MakeTube([](double z, double) { return 1 - std::max(0.0, 0.5 - std::abs(z - 6)); }, -1, 13);
  coverage.states.assign(coverage.wall.triangles.size(), PieceState::kSeen);
  const RgbImage picture = DrawFlatMap(coverage, 0);
  const auto brightness = [&](double z) { return picture(static_cast<int>(z / 12 * 360), 40, 0); };
  EXPECT_GT(brightness(5.7), brightness(3));
  EXPECT_GT(brightness(3), brightness(6.3));
}

TEST(FlatMap, IsNeitherTooNarrowNorTooWide) {
  WallCoverage coverage = PatchedTube();
  coverage.widths = {100};
  EXPECT_EQ(DrawFlatMap(coverage, 0).Width(), 120);
  coverage.widths = {0.1};
  EXPECT_EQ(DrawFlatMap(coverage, 0).Width(), 2400);
}

TEST(ColorByCoverage, GivesEachTriangleItsColourAndLeavesOutWhatIsNotTheWays) {
  const WallCoverage coverage = PatchedTube();
  const TriangleMesh mesh = ColorByCoverage(coverage);
  ASSERT_EQ(mesh.vertices.size(), 3 * mesh.triangles.size());
  ASSERT_EQ(mesh.colors.size(), mesh.vertices.size());
  size_t kept = 0;
  for (size_t i = 0; i < coverage.states.size(); ++i) {
    if (coverage.states[i] == PieceState::kOutside) continue;
    for (size_t k = 0; k < 3; ++k) {
      const auto corner = static_cast<size_t>(mesh.triangles.at(kept)[k]);
      ASSERT_EQ(mesh.colors[corner], ColorOf(coverage.states[i]));
      ASSERT_EQ(mesh.vertices[corner],
                coverage.wall.vertices[static_cast<size_t>(coverage.wall.triangles[i][k])]);
    }
    ++kept;
  }
  EXPECT_EQ(kept, mesh.triangles.size());
  EXPECT_LT(kept, coverage.states.size());
}

}  // namespace
}  // namespace lumen
