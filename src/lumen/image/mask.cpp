#include "lumen/image/mask.h"

#include <algorithm>
#include <cmath>

namespace lumen {

int64_t CountMask(ImageView<const uint8_t> mask) {
  const int64_t size = static_cast<int64_t>(mask.Width()) * mask.Height();
  return size - std::count(mask.Data(), mask.Data() + size, 0);
}

PixelBox BoundingBox(ImageView<const uint8_t> mask) {
  int left = mask.Width();
  int right = -1;
  int top = mask.Height();
  int bottom = -1;
  for (int y = 0; y < mask.Height(); ++y) {
    for (int x = 0; x < mask.Width(); ++x) {
      if (mask(x, y) == 0) continue;
      left = std::min(left, x);
      right = std::max(right, x);
      top = std::min(top, y);
      bottom = std::max(bottom, y);
    }
  }
  if (right < 0) return {};
  return {left, top, right - left + 1, bottom - top + 1};
}

Mask ErodeMask(ImageView<const uint8_t> mask, int times, bool from_image_edge) {
  Mask current(mask.Width(), mask.Height());
  std::copy_n(mask.Data(), current.Size(), current.Data());
  for (int i = 0; i < times; ++i) {
    const Mask previous = current;
    const auto valid = [&](int x, int y) {
      return previous.Contains(x, y) ? previous(x, y) != 0 : !from_image_edge;
    };
    for (int y = 0; y < mask.Height(); ++y) {
      for (int x = 0; x < mask.Width(); ++x) {
        if (!valid(x - 1, y) || !valid(x + 1, y) || !valid(x, y - 1) || !valid(x, y + 1)) current(x, y) = 0;
      }
    }
  }
  return current;
}

namespace {

double Turn(const Eigen::Vector2d& a, const Eigen::Vector2d& b, const Eigen::Vector2d& c) {
  return (b - a).x() * (c - a).y() - (b - a).y() * (c - a).x();
}

// Most points lie within the octagon of those farthest out in eight directions: what is strictly inside it
// is no corner of the hull, and need not be sorted.
void DropInner(std::vector<Eigen::Vector2d>& points) {
  const Eigen::Vector2d directions[] = {{1, 0}, {1, 1}, {0, 1}, {-1, 1}, {-1, 0}, {-1, -1}, {0, -1}, {1, -1}};
  std::vector<Eigen::Vector2d> octagon;
  for (const Eigen::Vector2d& direction : directions) {
    const Eigen::Vector2d farthest = *std::max_element(
        points.begin(), points.end(), [&](const Eigen::Vector2d& a, const Eigen::Vector2d& b) {
          return direction.dot(a) < direction.dot(b);
        });
    if (octagon.empty() || (octagon.back() != farthest && octagon.front() != farthest))
      octagon.push_back(farthest);
  }
  if (octagon.size() < 3) return;
  std::erase_if(points, [&](const Eigen::Vector2d& point) {
    for (size_t i = 0; i < octagon.size(); ++i) {
      if (!(Turn(octagon[i], octagon[(i + 1) % octagon.size()], point) > 0)) return false;
    }
    return true;
  });
}

}  // namespace

std::vector<Eigen::Vector2d> ConvexHull(std::vector<Eigen::Vector2d> points) {
  if (points.size() > 64) DropInner(points);
  const auto before = [](const Eigen::Vector2d& a, const Eigen::Vector2d& b) {
    return a.x() != b.x() ? a.x() < b.x() : a.y() < b.y();
  };
  std::sort(points.begin(), points.end(), before);
  points.erase(std::unique(points.begin(), points.end()), points.end());
  if (points.size() < 3) return points;
  // Andrew's monotone chain: lower hull left to right, then upper hull back.
  std::vector<Eigen::Vector2d> hull;
  for (int pass = 0; pass < 2; ++pass) {
    const size_t start = hull.size();
    for (const Eigen::Vector2d& point : points) {
      while (hull.size() >= start + 2 && !(Turn(hull[hull.size() - 2], hull.back(), point) > 0))
        hull.pop_back();
      hull.push_back(point);
    }
    hull.pop_back();  // the next pass starts with it
    std::reverse(points.begin(), points.end());
  }
  return hull;
}

double PolygonArea(const std::vector<Eigen::Vector2d>& polygon) {
  double twice = 0;
  for (size_t i = 0; i < polygon.size(); ++i) {
    const Eigen::Vector2d& a = polygon[i];
    const Eigen::Vector2d& b = polygon[(i + 1) % polygon.size()];
    twice += a.x() * b.y() - a.y() * b.x();
  }
  return 0.5 * std::abs(twice);
}

Mask FillConvexHull(ImageView<const uint8_t> mask) {
  // Only the ends of each row can be corners.
  std::vector<Eigen::Vector2d> ends;
  for (int y = 0; y < mask.Height(); ++y) {
    const uint8_t* row = mask.Row(y);
    const uint8_t* end = row + mask.Width();
    const uint8_t* first = std::find_if(row, end, [](uint8_t v) { return v != 0; });
    if (first == end) continue;
    const uint8_t* last = end - 1;
    while (*last == 0) --last;
    ends.emplace_back(first - row, y);
    ends.emplace_back(last - row, y);
  }
  Mask out(mask.Width(), mask.Height());
  const std::vector<Eigen::Vector2d> hull = ConvexHull(ends);
  for (int y = 0; y < mask.Height(); ++y) {
    double left = mask.Width();
    double right = -1;
    for (size_t i = 0; i < hull.size(); ++i) {
      const Eigen::Vector2d& a = hull[i];
      const Eigen::Vector2d& b = hull[(i + 1) % hull.size()];
      if (y < std::min(a.y(), b.y()) || y > std::max(a.y(), b.y())) continue;
      for (const double t :
           {a.y() == b.y() ? 0.0 : (y - a.y()) / (b.y() - a.y()), a.y() == b.y() ? 1.0 : -1.0}) {
        if (t < 0) continue;
        const double x = a.x() + t * (b.x() - a.x());
        left = std::min(left, x);
        right = std::max(right, x);
      }
    }
    for (int x = static_cast<int>(std::ceil(left - 1e-9)); x <= static_cast<int>(std::floor(right + 1e-9));
         ++x)
      out(x, y) = 255;
  }
  return out;
}

namespace {

// Largest 4-connected part of the pixels above the threshold.
Mask LargestComponent(const Image<uint8_t>& brightness, int threshold) {
  const int width = brightness.Width();
  Image<int32_t> label(width, brightness.Height(), 1, 0);
  std::vector<int> stack;
  int32_t labels = 0;
  int32_t best = 0;
  size_t best_size = 0;
  const int total = static_cast<int>(brightness.Size());
  for (int seed = 0; seed < total; ++seed) {
    if (label.Data()[seed] != 0 || brightness.Data()[seed] <= threshold) continue;
    label.Data()[seed] = ++labels;
    stack.assign(1, seed);
    size_t size = 0;
    while (!stack.empty()) {
      const int at = stack.back();
      stack.pop_back();
      ++size;
      const int x = at % width;
      const auto visit = [&](int next, bool inside) {
        if (!inside || label.Data()[next] != 0 || brightness.Data()[next] <= threshold) return;
        label.Data()[next] = labels;
        stack.push_back(next);
      };
      visit(at - 1, x > 0);
      visit(at + 1, x < width - 1);
      visit(at - width, at >= width);
      visit(at + width, at < total - width);
    }
    if (size > best_size) {
      best_size = size;
      best = labels;
    }
  }
  Mask out(width, brightness.Height());
  for (int i = 0; i < total && best > 0; ++i) out.Data()[i] = label.Data()[i] == best ? 255 : 0;
  return out;
}

}  // namespace

Mask DetectLitRegion(const std::vector<RgbImage>& frames) {
  LUMEN_CHECK(!frames.empty() && frames[0].Channels() == 3);
  // Brightest channel over all frames: what is dark in one may be lit in another.
  Image<uint8_t> brightness(frames[0].Width(), frames[0].Height());
  for (const RgbImage& frame : frames) {
    LUMEN_CHECK(SameSize(frame, brightness));
    for (size_t i = 0; i < brightness.Size(); ++i) {
      const uint8_t* rgb = frame.Data() + 3 * i;
      brightness.Data()[i] = std::max({brightness.Data()[i], rgb[0], rgb[1], rgb[2]});
    }
  }
  // The border's own level, from the corners' median, sets how dark "blank" is; compression noise rides on
  // it.
  const int patch = std::max(1, std::min(brightness.Width(), brightness.Height()) / 40);
  std::vector<uint8_t> corners;
  for (int y = 0; y < patch; ++y) {
    for (int x = 0; x < patch; ++x) {
      for (const int cx : {x, brightness.Width() - 1 - x}) {
        for (const int cy : {y, brightness.Height() - 1 - y}) corners.push_back(brightness(cx, cy));
      }
    }
  }
  std::nth_element(corners.begin(), corners.begin() + static_cast<int64_t>(corners.size() / 2),
                   corners.end());
  const int corner_level = corners[corners.size() / 2];
  constexpr int kDarkest = 16;
  constexpr int kNoise = 20;
  if (corner_level > 3 * kDarkest) {  // no dark frame: all is content
    Mask all(brightness.Width(), brightness.Height(), 1, 255);
    return all;
  }
  const Mask lit = LargestComponent(brightness, std::max(kDarkest, corner_level + kNoise));
  // A speck is not a picture.
  if (CountMask(lit) < static_cast<int64_t>(lit.Size()) / 50) return Mask(lit.Width(), lit.Height());
  return FillConvexHull(lit);
}

}  // namespace lumen
