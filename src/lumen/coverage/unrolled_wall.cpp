#include "lumen/coverage/unrolled_wall.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/parallel.h"
#include "lumen/surface/weighted_middle.h"

namespace lumen {

using Eigen::Vector3d;
using Eigen::Vector3f;

namespace {

constexpr int kDirections = 120;
constexpr int kMostRows = 1500;
constexpr int kMostHits = 5;    // along one ray
constexpr float kFarthest = 4;  // medians of a wall's radius: what lies beyond belongs elsewhere

struct RayHits {
  std::array<SurfaceHit, kMostHits> hits;
  std::array<int, kMostHits> piece = {};  // where it is among those that are voted on
  int count = 0;
};

// All that a ray meets, the first few.
RayHits FollowRay(const TriangleTree& surface, const Vector3d& from, const Vector3d& direction, double step) {
  RayHits found;
  Vector3d at = from;
  while (found.count < kMostHits) {
    const auto hit = surface.FindFirstFace(at, direction);
    if (!hit) break;
    found.hits[static_cast<size_t>(found.count++)] = *hit;
    at = hit->point + step * direction;
  }
  return found;
}

float MedianRadius(const UnrolledWall& wall) {
  std::vector<float> known;
  for (size_t i = 0; i < wall.radius.Size(); ++i)
    if (wall.found.Data()[i] != 0) known.push_back(wall.radius.Data()[i]);
  return known.empty() ? 0 : MedianOf(known);
}

// More views must show it than see through it.
bool IsThere(const DepthSighting& votes) { return votes.through <= votes.views; }

std::vector<RayHits> FollowRays(const UnrolledWall& wall, const TriangleTree& surface, int threads) {
  const int width = wall.Directions();
  std::vector<RayHits> rays(wall.radius.Size());
  const double step = 1e-3 * static_cast<double>(wall.way.Length());
  ParallelFor(wall.Rows(), threads, [&](int64_t row) {
    const CurvePoint at = wall.way.At(wall.row_step * static_cast<float>(row));
    for (int x = 0; x < width; ++x)
      rays[static_cast<size_t>(row * width + x)] =
          FollowRay(surface, at.position.cast<double>(), DirectionRound(at, x, width).cast<double>(), step);
  });
  return rays;
}

void MeetSurface(const TriangleTree& surface, const ViewList& views, int threads, UnrolledWall& wall) {
  std::vector<RayHits> rays = FollowRays(wall, surface, threads);
  std::vector<WallPiece> pieces;
  for (RayHits& ray : rays) {
    for (int i = 0; i < ray.count; ++i) {
      ray.piece[static_cast<size_t>(i)] = static_cast<int>(pieces.size());
      pieces.push_back({ray.hits[static_cast<size_t>(i)].point, ray.hits[static_cast<size_t>(i)].normal, 0});
    }
  }
  // Whether it is there is asked of views however flatly they look.
  const DepthSightingOptions any{.flattest_degrees = 90, .slack = 0.1};
  const std::vector<DepthSighting> votes = FindDepthSightings(pieces, views, any, threads);
  const int width = wall.Directions();
  for (int y = 0; y < wall.Rows(); ++y) {
    const CurvePoint at = wall.way.At(wall.row_step * static_cast<float>(y));
    for (int x = 0; x < width; ++x) {
      const RayHits& ray = rays[static_cast<size_t>(y * width + x)];
      const Vector3d direction = DirectionRound(at, x, width).cast<double>();
      for (int i = 0; i < ray.count; ++i) {
        const SurfaceHit& hit = ray.hits[static_cast<size_t>(i)];
        if (!IsThere(votes[static_cast<size_t>(ray.piece[static_cast<size_t>(i)])])) continue;
        if (hit.normal.dot(direction) < 0) {
          wall.radius(x, y) = static_cast<float>((hit.point - at.position.cast<double>()).dot(direction));
          wall.found(x, y) = 255;
        }
        break;  // a back: the ray has left the lumen before, unseen
      }
    }
  }
}

// The logarithm of the radius is the smoothest there is between what is known: each unknown node is the mean
// of its neighbours, by successive over-relaxation.
void FillUnknown(UnrolledWall& wall) {
  constexpr int kRounds = 3000;
  constexpr float kOver = 1.9F, kSettled = 1e-4F, kLeast = 1e-6F;
  const int width = wall.Directions(), height = wall.Rows();
  const float median = std::max(MedianRadius(wall), kLeast);
  const float round = static_cast<float>(2 * M_PI) * median / static_cast<float>(width);
  const float along = (round / wall.row_step) * (round / wall.row_step);  // weight against neighbours round
  Image<float> value(width, height, 1, std::log(median));
  for (size_t i = 0; i < value.Size(); ++i)
    if (wall.found.Data()[i] != 0) value.Data()[i] = std::log(std::max(wall.radius.Data()[i], kLeast));
  float change = 1;
  for (int times = 0; times < kRounds && change > kSettled; ++times) {
    change = 0;
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        if (wall.found(x, y) != 0) continue;
        float sum = value((x + 1) % width, y) + value((x + width - 1) % width, y), weight = 2;
        if (y > 0) sum += along * value(x, y - 1), weight += along;
        if (y + 1 < height) sum += along * value(x, y + 1), weight += along;
        const float step = kOver * (sum / weight - value(x, y));
        value(x, y) += step;
        change = std::max(change, std::abs(step));
      }
    }
  }
  for (size_t i = 0; i < value.Size(); ++i)
    if (wall.found.Data()[i] == 0) wall.radius.Data()[i] = std::exp(value.Data()[i]);
}

}  // namespace

Vector3f DirectionRound(const CurvePoint& at, int direction, int directions) {
  const auto angle = static_cast<float>(2 * M_PI * direction / directions);
  return std::cos(angle) * at.normal + std::sin(angle) * at.binormal;
}

Vector3f UnrolledWall::PointAt(int direction, int row) const {
  const CurvePoint at = way.At(row_step * static_cast<float>(row));
  return at.position + radius(direction, row) * DirectionRound(at, direction, Directions());
}

UnrolledWall UnrollWay(const ArcCurve& way) {
  UnrolledWall wall;
  wall.way = way;
  const int rows = std::clamp(static_cast<int>(way.Points().size()), 2, kMostRows);
  wall.row_step = way.Length() / static_cast<float>(rows - 1);
  wall.radius = Image<float>(kDirections, rows);
  wall.found = Mask(kDirections, rows);
  return wall;
}

UnrolledWall CloseWall(const ArcCurve& way, const TriangleTree& surface, const ViewList& views, int threads) {
  UnrolledWall wall = UnrollWay(way);
  MeetSurface(surface, views, threads, wall);
  const float farthest = kFarthest * MedianRadius(wall);
  for (size_t i = 0; i < wall.radius.Size(); ++i)
    if (wall.radius.Data()[i] > farthest) wall.found.Data()[i] = 0;
  FillUnknown(wall);
  return wall;
}

TriangleMesh MeshWalls(const std::vector<UnrolledWall>& walls) {
  TriangleMesh mesh;
  for (const UnrolledWall& wall : walls) {
    const auto first = static_cast<int32_t>(mesh.vertices.size());
    const int width = wall.Directions();
    for (int y = 0; y < wall.Rows(); ++y)
      for (int x = 0; x < width; ++x) mesh.vertices.push_back(wall.PointAt(x, y));
    for (int y = 0; y + 1 < wall.Rows(); ++y) {
      for (int x = 0; x < width; ++x) {
        const int32_t a = first + y * width + x, b = first + y * width + (x + 1) % width;
        const int32_t c = a + width, d = b + width;
        mesh.triangles.push_back({a, c, b});
        mesh.triangles.push_back({b, c, d});
      }
    }
  }
  return mesh;
}

}  // namespace lumen
