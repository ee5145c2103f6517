#include "lumen/eval/overlap.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"
#include "lumen/eval/depth_error.h"

namespace lumen {

namespace {

constexpr double kSameDepth = 0.1;

bool Sees(const TrueView& view, const Camera& camera, const Eigen::Vector3d& x_in_world) {
  const Eigen::Vector3d x = view.world_from_camera.Inverse() * x_in_world;
  const auto uv = x.z() > 0 ? camera.Project(x) : std::nullopt;
  if (!uv) return false;
  const int u = static_cast<int>(std::lround(uv->x()));
  const int v = static_cast<int>(std::lround(uv->y()));
  if (!view.depth.Contains(u, v) || !(view.depth(u, v) > 0)) return false;
  return std::abs(x.z() / view.depth(u, v) - 1) < kSameDepth;
}

std::optional<double> ShareSeen(const TrueView& from, const TrueView& by, const Camera& camera) {
  int64_t known = 0, seen = 0;
  for (int y = 0; y < from.depth.Height(); ++y) {
    for (int x = 0; x < from.depth.Width(); ++x) {
      if (!(from.depth(x, y) > 0)) continue;
      const auto ray = camera.Unproject(Eigen::Vector2d(x, y));
      if (!ray || !(ray->z() > 0)) continue;
      ++known;
      const Eigen::Vector3d point = *ray * (static_cast<double>(from.depth(x, y)) / ray->z());
      seen += Sees(by, camera, from.world_from_camera * point) ? 1 : 0;
    }
  }
  if (known < kLeastValidPixels) return std::nullopt;
  return static_cast<double>(seen) / static_cast<double>(known);
}

}  // namespace

std::optional<double> ComputeOverlap(const TrueView& a, const TrueView& b, const Camera& camera) {
  LUMEN_CHECK(SameSize(a.depth, camera) && SameSize(b.depth, camera));
  const auto by_b = ShareSeen(a, b, camera);
  const auto by_a = ShareSeen(b, a, camera);
  if (!by_a || !by_b) return std::nullopt;
  return std::max(*by_a, *by_b);
}

}  // namespace lumen
