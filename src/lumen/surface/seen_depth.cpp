#include "lumen/surface/seen_depth.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lumen {

namespace {

// A corner of the surface as the view sees it.
struct Corner {
  float u = 0, v = 0;
  float nearness = 0;  // 1 / depth, which is even over the picture; 0: not seen
  float finer = 0;
};

Image<Corner> CornersOf(const DepthView& view, const DepthView& other) {
  constexpr double kFarOff = 1e5;  // pixels beyond which nothing is drawn
  const Rigid3 view_from_other = view.world_from_camera.Inverse() * other.world_from_camera;
  Image<Corner> corners(other.depth.Width(), other.depth.Height());
  for (int y = 0; y < corners.Height(); ++y) {
    for (int x = 0; x < corners.Width(); ++x) {
      const double there = other.depth(x, y);
      if (!(there > 0)) continue;
      const Eigen::Vector3d at = view_from_other * (there * other.camera.RayAtUnitDepth(x, y));
      const auto pixel = view.camera.IsBefore(at, 1e-6) ? view.camera.Project(at) : std::nullopt;
      if (!pixel || !(pixel->cwiseAbs().maxCoeff() < kFarOff)) continue;
      const double depth = view.camera.Depth(at);
      corners(x, y) = {static_cast<float>(pixel->x()), static_cast<float>(pixel->y()),
                       static_cast<float>(1 / depth),
                       static_cast<float>(depth / there * other.camera.fx / view.camera.fx)};
    }
  }
  return corners;
}

void DrawTriangle(const Corner& a, const Corner& b, const Corner& c, SeenDepth& seen) {
  const float area = (b.u - a.u) * (c.v - a.v) - (c.u - a.u) * (b.v - a.v);
  if (!(area > 1e-6F)) return;  // from behind
  const auto first = [](float p, float q, float r) {
    return std::max(0, static_cast<int>(std::ceil(std::min(std::min(p, q), r))));
  };
  const auto last = [](float p, float q, float r, int size) {
    return std::min(size - 1, static_cast<int>(std::floor(std::max(std::max(p, q), r))));
  };
  const int left = first(a.u, b.u, c.u), right = last(a.u, b.u, c.u, seen.depth.Width());
  const int bottom = last(a.v, b.v, c.v, seen.depth.Height());
  const float share = 1 / area;
  for (int y = first(a.v, b.v, c.v); y <= bottom; ++y) {
    for (int x = left; x <= right; ++x) {
      const float du = static_cast<float>(x) - a.u, dv = static_cast<float>(y) - a.v;
      const float wb = (du * (c.v - a.v) - (c.u - a.u) * dv) * share;
      const float wc = ((b.u - a.u) * dv - du * (b.v - a.v)) * share;
      const float wa = 1 - wb - wc;
      if (wa < 0 || wb < 0 || wc < 0) continue;
      const float depth = 1 / (wa * a.nearness + wb * b.nearness + wc * c.nearness);
      float& there = seen.depth(x, y);
      if (there > 0 && there <= depth) continue;
      there = depth;
      seen.finer(x, y) = wa * a.finer + wb * b.finer + wc * c.finer;
    }
  }
}

// Whether a pixel's centre may lie within the cell: where the map is the finer one, most cells cover none.
bool CoversAPixel(const Corner& a, const Corner& b, const Corner& c, const Corner& d) {
  const auto covers = [](float p, float q, float r, float s) {
    return std::ceil(std::min({p, q, r, s})) <= std::max({p, q, r, s});
  };
  return covers(a.u, b.u, c.u, d.u) && covers(a.v, b.v, c.v, d.v);
}

bool IsOneSurface(const DepthImage& depth, int x, int y, double edge) {
  const auto [least, most] =
      std::minmax({depth(x, y), depth(x + 1, y), depth(x, y + 1), depth(x + 1, y + 1)});
  return least > 0 && most < edge * least;
}

}  // namespace

SeenDepth SeeFrom(const DepthView& view, const DepthView& other, double edge) {
  const Image<Corner> corners = CornersOf(view, other);
  SeenDepth seen{DepthImage(view.depth.Width(), view.depth.Height()),
                 Image<float>(view.depth.Width(), view.depth.Height())};
  for (int y = 0; y + 1 < corners.Height(); ++y) {
    for (int x = 0; x + 1 < corners.Width(); ++x) {
      const Corner &a = corners(x, y), &b = corners(x + 1, y), &c = corners(x, y + 1),
                   &d = corners(x + 1, y + 1);
      if (!(std::min({a.nearness, b.nearness, c.nearness, d.nearness}) > 0) ||
          !IsOneSurface(other.depth, x, y, edge))
        continue;
      if (!CoversAPixel(a, b, c, d)) continue;
      DrawTriangle(a, b, d, seen);
      DrawTriangle(a, d, c, seen);
    }
  }
  return seen;
}

}  // namespace lumen
