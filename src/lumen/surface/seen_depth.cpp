#include "lumen/surface/seen_depth.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace lumen {

namespace {

// A corner of the surface as the view sees it.
struct Corner {
  double u = 0, v = 0, depth = 0;  // depth 0: not seen
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
      corners(x, y) = {pixel->x(), pixel->y(), depth,
                       static_cast<float>(depth / there * other.camera.fx / view.camera.fx)};
    }
  }
  return corners;
}

void DrawTriangle(const Corner& a, const Corner& b, const Corner& c, SeenDepth& seen) {
  const double area = (b.u - a.u) * (c.v - a.v) - (c.u - a.u) * (b.v - a.v);
  if (!(area > 1e-9)) return;  // from behind
  const auto first = [](double p, double q, double r) {
    return std::max(0, static_cast<int>(std::ceil(std::min({p, q, r}))));
  };
  const auto last = [](double p, double q, double r, int size) {
    return std::min(size - 1, static_cast<int>(std::floor(std::max({p, q, r}))));
  };
  const int right = last(a.u, b.u, c.u, seen.depth.Width()),
            bottom = last(a.v, b.v, c.v, seen.depth.Height());
  for (int y = first(a.v, b.v, c.v); y <= bottom; ++y) {
    for (int x = first(a.u, b.u, c.u); x <= right; ++x) {
      const double wb = ((x - a.u) * (c.v - a.v) - (c.u - a.u) * (y - a.v)) / area;
      const double wc = ((b.u - a.u) * (y - a.v) - (x - a.u) * (b.v - a.v)) / area;
      const double wa = 1 - wb - wc;
      if (std::min({wa, wb, wc}) < 0) continue;
      const auto depth = static_cast<float>(1 / (wa / a.depth + wb / b.depth + wc / c.depth));
      if (seen.depth(x, y) > 0 && seen.depth(x, y) <= depth) continue;
      seen.depth(x, y) = depth;
      seen.finer(x, y) = static_cast<float>(wa * a.finer + wb * b.finer + wc * c.finer);
    }
  }
}

// Whether a pixel's centre may lie within the cell: where the map is the finer one, most cells cover none.
bool CoversAPixel(const Corner& a, const Corner& b, const Corner& c, const Corner& d) {
  const auto covers = [](double p, double q, double r, double s) {
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
      if (!(std::min({a.depth, b.depth, c.depth, d.depth}) > 0) || !IsOneSurface(other.depth, x, y, edge))
        continue;
      if (!CoversAPixel(a, b, c, d)) continue;
      DrawTriangle(a, b, d, seen);
      DrawTriangle(a, d, c, seen);
    }
  }
  return seen;
}

}  // namespace lumen
