#include "lumen/coverage/flat_map.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/parallel.h"
#include "lumen/coverage/unrolled_wall.h"

namespace lumen {

using Eigen::Vector3d;

namespace {

constexpr int kRound = 180;  // pixels
constexpr double kPerWidth =
    60;  // pixels along, a width of the lumen: about as many as round it, in proportion
constexpr int kLeastAlong = 120, kMostAlong = 2400;

// Light from where the scope came in, so that folds have a bright side and a dark one.
double ShadeOf(const Vector3d& normal, const CurvePoint& at) {
  const double towards = -normal.dot(at.tangent.cast<double>());
  return 0.78 + 0.35 * std::clamp(towards, -1.0, 1.0);
}

// Pieces that only bridge a jump of the wall would stand in the picture like blades.
bool IsBlade(const TriangleMesh& mesh, const std::array<int32_t, 3>& triangle, double width) {
  constexpr float kLongest = 0.3F;  // widths
  for (size_t k = 0; k < 3; ++k) {
    const Eigen::Vector3f side = mesh.vertices[static_cast<size_t>(triangle[k])] -
                                 mesh.vertices[static_cast<size_t>(triangle[(k + 1) % 3])];
    if (side.norm() > kLongest * static_cast<float>(width)) return true;
  }
  return false;
}

// A triangle has one colour: corners are not shared.
void AddPiece(const TriangleMesh& wall, size_t piece, const StateColor& color, TriangleMesh& mesh) {
  const auto first = static_cast<int32_t>(mesh.vertices.size());
  for (const int32_t corner : wall.triangles[piece]) {
    mesh.vertices.push_back(wall.vertices[static_cast<size_t>(corner)]);
    mesh.colors.push_back(color);
  }
  mesh.triangles.push_back({first, first + 1, first + 2});
}

void AddUnseen(const WallCoverage& coverage, TriangleMesh& mesh) {
  for (size_t t = 0; t < coverage.states.size(); ++t) {
    const auto& triangle = coverage.wall.triangles[t];
    if (coverage.states[t] != PieceState::kNotSeen ||
        IsBlade(coverage.wall, triangle, coverage.widths.front()))
      continue;
    AddPiece(coverage.wall, t, ColorOf(PieceState::kNotSeen), mesh);
  }
}

}  // namespace

StateColor ColorOf(PieceState state) {
  switch (state) {
    case PieceState::kNotSeen:
      return {204, 61, 30};
    case PieceState::kAfar:
      return {86, 150, 210};
    case PieceState::kGlance:
      return {236, 190, 70};
    case PieceState::kSeen:
      return {222, 205, 196};
    case PieceState::kOutside:
      break;
  }
  return {90, 90, 96};
}

RgbImage DrawFlatMap(const WallCoverage& coverage, int way) {
  const ArcCurve& curve = coverage.ways[static_cast<size_t>(way)];
  const double widths = static_cast<double>(curve.Length()) / coverage.widths[static_cast<size_t>(way)];
  const int along = std::clamp(static_cast<int>(std::lround(kPerWidth * widths)), kLeastAlong, kMostAlong);
  const TriangleTree tree(coverage.wall);
  RgbImage picture(along, kRound, 3);
  for (int x = 0; x < along; ++x) {
    const CurvePoint at =
        curve.At(curve.Length() * (static_cast<float>(x) + 0.5F) / static_cast<float>(along));
    for (int y = 0; y < kRound; ++y) {
      const auto hit =
          tree.FindFirstFace(at.position.cast<double>(), DirectionRound(at, y, kRound).cast<double>());
      const PieceState state =
          hit ? coverage.states[static_cast<size_t>(hit->triangle)] : PieceState::kOutside;
      const double shade = hit ? ShadeOf(hit->normal, at) : 1;
      const StateColor color = ColorOf(state);
      for (size_t c = 0; c < 3; ++c)
        picture(x, y, static_cast<int>(c)) = static_cast<uint8_t>(std::clamp(shade * color[c], 0.0, 255.0));
    }
  }
  return picture;
}

TriangleMesh ColorByCoverage(const WallCoverage& coverage) {
  TriangleMesh mesh;
  for (size_t t = 0; t < coverage.wall.triangles.size(); ++t)
    if (coverage.states[t] != PieceState::kOutside)
      AddPiece(coverage.wall, t, ColorOf(coverage.states[t]), mesh);
  return mesh;
}

TriangleMesh ColorSurface(const WallCoverage& coverage, const TriangleMesh& surface, int threads) {
  constexpr double kNear = 0.15;  // widths: what lies farther from the wall is none of it
  constexpr int64_t kAtOnce = 2000;
  const TriangleTree tree(coverage.wall);
  TriangleMesh mesh;
  mesh.vertices = surface.vertices;
  mesh.triangles = surface.triangles;
  mesh.colors.resize(mesh.vertices.size());
  ParallelChunks(
      static_cast<int64_t>(mesh.vertices.size()), kAtOnce, threads, [&](int64_t begin, int64_t end) {
        for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
          const auto hit = tree.FindNearest(mesh.vertices[i].cast<double>(), kNear * coverage.widths.front());
          mesh.colors[i] =
              ColorOf(hit ? coverage.states[static_cast<size_t>(hit->triangle)] : PieceState::kOutside);
        }
      });
  AddUnseen(coverage, mesh);
  return mesh;
}

}  // namespace lumen
