#include "lumen/points/corners.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace lumen {

namespace {

constexpr int kReach = 4;   // half the side of the window that gradients are summed over
constexpr int kBorder = 8;  // no corner nearer to the picture's edge

// Sums of gradient products over windows of 2 · kReach + 1 pixels a side, row by row.
class GradientSums {
 public:
  explicit GradientSums(const Image<uint8_t>& picture)
      : picture_(picture), width_(picture.Width()), columns_(static_cast<size_t>(picture.Width())) {
    for (int y = kBorder - kReach; y < kBorder + kReach; ++y) AddRow(y, 1);
  }

  // The smaller eigenvalue of the mean gradient product around each pixel of row y; rows come in order.
  void NextRow(int y, std::vector<float>& strength) {
    AddRow(y + kReach, 1);
    Sums window{};
    for (int x = kBorder - kReach; x < kBorder + kReach; ++x) window.Add(columns_[static_cast<size_t>(x)], 1);
    constexpr float kPixels = (2 * kReach + 1) * (2 * kReach + 1);
    for (int x = kBorder; x < width_ - kBorder; ++x) {
      window.Add(columns_[static_cast<size_t>(x + kReach)], 1);
      const auto xx = static_cast<float>(window.xx), yy = static_cast<float>(window.yy);
      const auto xy = static_cast<float>(window.xy);
      const float root = std::sqrt((xx - yy) * (xx - yy) + 4 * xy * xy);
      // Gradients are differences over two pixels.
      strength[static_cast<size_t>(x)] = 0.5F * (xx + yy - root) / (4 * kPixels);
      window.Add(columns_[static_cast<size_t>(x - kReach)], -1);
    }
    AddRow(y - kReach, -1);
  }

 private:
  struct Sums {
    int32_t xx = 0, xy = 0, yy = 0;
    void Add(const Sums& other, int32_t sign) {
      xx += sign * other.xx;
      xy += sign * other.xy;
      yy += sign * other.yy;
    }
  };

  void AddRow(int y, int32_t sign) {
    const uint8_t* row = picture_.Row(y);
    const uint8_t* above = picture_.Row(y - 1);
    const uint8_t* below = picture_.Row(y + 1);
    for (int x = 1; x < width_ - 1; ++x) {
      const int32_t dx = row[x + 1] - row[x - 1], dy = below[x] - above[x];
      columns_[static_cast<size_t>(x)].Add({dx * dx, dx * dy, dy * dy}, sign);
    }
  }

  const Image<uint8_t>& picture_;
  int width_;
  std::vector<Sums> columns_;
};

struct Corner {
  float strength = 0;
  Eigen::Vector2i pixel{0, 0};
};

// Whether anything around is this bright, or this much brighter than what lies around it.
bool HasHighlight(const FinePicture& fine, int x, int y, int saturated, int glare) {
  constexpr int kFree = 7;
  for (int j = -kFree; j <= kFree; ++j) {
    const uint8_t* grey = fine.grey.Row(y + j) + x;
    const uint8_t* relative = fine.levels[0].Row(y + j) + x;
    for (int i = -kFree; i <= kFree; ++i) {
      if (grey[i] >= saturated || relative[i] >= glare) return true;
    }
  }
  return false;
}

}  // namespace

void CornerOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("count", count,
                {.min = 0, .max = 100000, .help = "points looked for in a keyframe; 0: none"});
  visitor.Field("least", least, {.min = 0, .help = "contrast that makes a point, grey levels² a pixel²"});
  visitor.Field("glare", glare,
                {.min = 0, .help = "share by which highlights are brighter than what is around them"});
  visitor.Field("saturated", saturated, {.min = 1, .max = 256, .help = "grey level of highlights"});
}

std::vector<Eigen::Vector2i> FindCorners(const FinePicture& fine, const Mask& content,
                                         const CornerOptions& options) {
  const Image<uint8_t>& picture = fine.grey;
  const int glare = FinePicture::kMiddle + static_cast<int>(options.glare * FinePicture::kContrast);
  const int width = picture.Width(), height = picture.Height();
  if (options.count <= 0 || width <= 2 * kBorder || height <= 2 * kBorder) return {};
  const double cell = std::sqrt(static_cast<double>(width) * height / options.count);
  const int columns = static_cast<int>(width / cell) + 1, rows = static_cast<int>(height / cell) + 1;
  std::vector<Corner> best(static_cast<size_t>(columns) * static_cast<size_t>(rows));
  std::vector<float> strength(static_cast<size_t>(width));
  GradientSums sums(picture);
  for (int y = kBorder; y < height - kBorder; ++y) {
    sums.NextRow(y, strength);
    Corner* row = &best[static_cast<size_t>(y / cell) * static_cast<size_t>(columns)];
    const uint8_t* mask = content.Row(y * content.Height() / height);
    for (int x = kBorder; x < width - kBorder; ++x) {
      const float here = strength[static_cast<size_t>(x)];
      Corner& corner = row[static_cast<size_t>(x / cell)];
      if (here <= corner.strength || here < options.least) continue;
      if (mask[x * content.Width() / width] == 0 || HasHighlight(fine, x, y, options.saturated, glare))
        continue;
      corner = {here, {x, y}};
    }
  }
  // Two cells may have found the same corner at their common border: the stronger one stays.
  std::vector<Eigen::Vector2i> corners;
  const double apart = 0.4 * cell;
  std::stable_sort(best.begin(), best.end(),
                   [](const Corner& a, const Corner& b) { return a.strength > b.strength; });
  for (const Corner& corner : best) {
    if (!(corner.strength > 0)) break;
    const bool taken = std::any_of(corners.begin(), corners.end(), [&](const Eigen::Vector2i& other) {
      return (other - corner.pixel).cast<double>().norm() < apart;
    });
    if (!taken) corners.push_back(corner.pixel);
  }
  return corners;
}

}  // namespace lumen
