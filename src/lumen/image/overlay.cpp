#include "lumen/image/overlay.h"

#include <algorithm>
#include <cmath>

#include "lumen/image/grey.h"

namespace lumen {

namespace {

// ---- what never changes

constexpr int kUnchanged = 14;  // grey levels that compression moves a still pixel by
constexpr int kLit = 60;        // a tunnel's end may be black in every frame

// Pixels within `reach` of the mask, sideways, up and down: rows first, then columns.
Mask Widened(const Mask& mask, int reach) {
  Mask rows(mask.Width(), mask.Height()), all(mask.Width(), mask.Height());
  for (int y = 0; y < mask.Height(); ++y) {
    for (int x = 0, last = -reach - 1; x < mask.Width() + reach; ++x) {
      if (x < mask.Width() && mask(x, y) != 0) last = x;
      if (x - reach >= 0 && last >= x - 2 * reach && last >= 0) rows(x - reach, y) = 255;
    }
  }
  for (int x = 0; x < mask.Width(); ++x) {
    for (int y = 0, last = -reach - 1; y < mask.Height() + reach; ++y) {
      if (y < mask.Height() && rows(x, y) != 0) last = y;
      if (y - reach >= 0 && last >= y - 2 * reach && last >= 0) all(x, y - reach) = 255;
    }
  }
  return all;
}

// Single pixels that happen not to change are not text: strokes have neighbours.
Mask WithNeighbours(const Mask& mask) {
  constexpr int kLeast = 4;  // of nine
  Mask kept(mask.Width(), mask.Height());
  for (int y = 1; y + 1 < mask.Height(); ++y) {
    for (int x = 1; x + 1 < mask.Width(); ++x) {
      int count = 0;
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) count += mask(x + dx, y + dy) != 0 ? 1 : 0;
      if (mask(x, y) != 0 && count >= kLeast) kept(x, y) = 255;
    }
  }
  return kept;
}

// ---- a picture within the picture

// A straight piece of a column (or row) where brightness steps, along which a side may run.
struct Side {
  int at = 0;            // the column whose left border it is
  int from = 0, to = 0;  // rows, `to` excluded
};

// Steps between neighbours, averaged over the frames; transposed, so that columns become rows.
Image<float> MeanSteps(const std::vector<Image<uint8_t>>& greys, bool upright) {
  const int width = greys.front().Width(), height = greys.front().Height();
  Image<float> steps(upright ? height : width, upright ? width : height);
  for (const Image<uint8_t>& grey : greys) {
    for (int y = upright ? 0 : 1; y < height; ++y) {
      for (int x = upright ? 1 : 0; x < width; ++x) {
        const int before = upright ? grey(x - 1, y) : grey(x, y - 1);
        const auto step =
            static_cast<float>(std::abs(grey(x, y) - before)) / static_cast<float>(greys.size());
        (upright ? steps(y, x) : steps(x, y)) += step;
      }
    }
  }
  return steps;
}

// The best piece of each line: strong steps count for it, weak ones three times against it.
std::vector<Side> FindSides(const Image<float>& steps, int least_length) {
  constexpr float kStrong = 14;
  constexpr int kApart = 4;  // a side is thin: so far off there is no such step
  constexpr int kAgainst = -3;
  std::vector<Side> sides;
  for (int line = kApart; line + kApart < steps.Height(); ++line) {
    int best = 0, sum = 0, start = 0;
    Side side{line, 0, 0};
    for (int i = 0; i < steps.Width(); ++i) {
      const float step = steps(i, line);
      const bool strong =
          step > kStrong && step > 1.5F * std::max(steps(i, line - kApart), steps(i, line + kApart));
      sum += strong ? 1 : kAgainst;
      if (sum <= 0) {
        sum = 0;
        start = i + 1;
      } else if (sum > best) {
        best = sum;
        side.from = start;
        side.to = i + 1;
      }
    }
    if (best > 0 && side.to - side.from >= least_length) sides.push_back(side);
  }
  return sides;
}

Image<uint8_t> EveryNth(const Image<uint8_t>& image, int step) {
  Image<uint8_t> thinned(image.Width() / step, image.Height() / step);
  for (int y = 0; y < thinned.Height(); ++y)
    for (int x = 0; x < thinned.Width(); ++x) thinned(x, y) = image(step * x, step * y);
  return thinned;
}

double MeanGrey(const Image<uint8_t>& grey, PixelBox box) {
  const int right = std::min(grey.Width(), box.x + box.width),
            bottom = std::min(grey.Height(), box.y + box.height);
  int64_t sum = 0, count = 0;
  for (int y = std::max(0, box.y); y < bottom; ++y) {
    for (int x = std::max(0, box.x); x < right; ++x) {
      sum += grey(x, y);
      ++count;
    }
  }
  return count > 0 ? static_cast<double>(sum) / static_cast<double>(count) : 0;
}

double SpreadOfGrey(const Image<uint8_t>& grey, PixelBox box) {
  const double mean = MeanGrey(grey, box);
  double sum = 0;
  for (int y = box.y; y < box.y + box.height; ++y)
    for (int x = box.x; x < box.x + box.width; ++x) sum += (grey(x, y) - mean) * (grey(x, y) - mean);
  return std::sqrt(sum / (static_cast<double>(box.width) * box.height));
}

constexpr int kCorner = 4;  // pixels by which sides may miss one another at a corner

bool Ends(const Side& side, int from, int to) {
  return std::abs(side.from - from) <= kCorner && std::abs(side.to - to) <= kCorner;
}

// A strip of pixels along a side, within (+1) or without (-1) the box.
bool IsLitBesides(const Image<uint8_t>& grey, const PixelBox& box) {
  constexpr double kLitMean = 25;
  constexpr int kOff = 2, kWide = 4;
  const auto lit = [&](int x, int y, int width, int height) {
    const bool beyond = x < 0 || y < 0 || x + width > grey.Width() || y + height > grey.Height();
    return beyond || MeanGrey(grey, {x, y, width, height}) > kLitMean;
  };
  const int right = box.x + box.width, bottom = box.y + box.height;
  for (const int off : {-kOff - kWide, kOff}) {
    if (!lit(box.x + off, box.y, kWide, box.height) || !lit(box.x, box.y + off, box.width, kWide))
      return false;
    if (!lit(right + off, box.y, kWide, box.height) || !lit(box.x, bottom + off, box.width, kWide))
      return false;
  }
  return true;
}

bool IsInset(const Image<uint8_t>& grey, const PixelBox& box) {
  const double share =
      static_cast<double>(box.width) * box.height / (static_cast<double>(grey.Width()) * grey.Height());
  constexpr double kLeastShare = 0.01, kMostShare = 0.35, kLeastSpread = 10;
  return share >= kLeastShare && share <= kMostShare && IsLitBesides(grey, box) &&
         SpreadOfGrey(grey, box) >= kLeastSpread;
}

}  // namespace

UnchangedPixels FindUnchanged(const std::vector<RgbImage>& frames, ImageView<const uint8_t> content) {
  LUMEN_CHECK(!frames.empty());
  const int width = content.Width(), height = content.Height();
  Image<uint8_t> least(width, height, 1, 255), most(width, height);
  for (const RgbImage& frame : frames) {
    LUMEN_CHECK(frame.Width() == width && frame.Height() == height);
    const Image<uint8_t> grey = ToGrey(frame);
    for (size_t i = 0; i < grey.Size(); ++i) {
      least.Data()[i] = std::min(least.Data()[i], grey.Data()[i]);
      most.Data()[i] = std::max(most.Data()[i], grey.Data()[i]);
    }
  }
  Mask unchanged(width, height);
  for (size_t i = 0; i < unchanged.Size(); ++i) {
    const bool still = most.Data()[i] - least.Data()[i] <= kUnchanged && most.Data()[i] >= kLit;
    unchanged.Data()[i] = content.Data()[i] != 0 && still ? 255 : 0;
  }
  unchanged = WithNeighbours(unchanged);
  const auto lit = static_cast<double>(std::max<int64_t>(1, CountMask(content)));
  const int reach = std::max(2, width / 60);
  return {Widened(unchanged, reach), static_cast<double>(CountMask(unchanged)) / lit};
}

std::optional<PixelBox> FindInset(const std::vector<RgbImage>& frames) {
  if (frames.empty()) return std::nullopt;
  constexpr int kWidest = 640;  // pixels looked at: sides stay as sharp where only some are
  const int step = (frames.front().Width() + kWidest - 1) / kWidest;
  std::vector<Image<uint8_t>> greys;
  for (const RgbImage& frame : frames) greys.push_back(EveryNth(ToGrey(frame), step));
  const int width = greys.front().Width(), height = greys.front().Height();
  constexpr int kShare = 12;  // a twelfth of the picture is the shortest side
  std::vector<Side> columns = FindSides(MeanSteps(greys, true), height / kShare);
  std::vector<Side> rows = FindSides(MeanSteps(greys, false), width / kShare);
  // The image's own borders may stand in for one of two.
  constexpr int kBorder = -1;
  columns.insert(columns.end(), {{0, kBorder, kBorder}, {width, kBorder, kBorder}});
  rows.insert(rows.end(), {{0, kBorder, kBorder}, {height, kBorder, kBorder}});
  const auto fits = [](const Side& side, int from, int to) {
    return side.from == kBorder || Ends(side, from, to);
  };
  for (const Side& left : columns) {
    for (const Side& right : columns) {
      if (right.at <= left.at || (left.from == kBorder && right.from == kBorder)) continue;
      for (const Side& top : rows) {
        if (!fits(top, left.at, right.at)) continue;
        for (const Side& bottom : rows) {
          if (bottom.at <= top.at || (top.from == kBorder && bottom.from == kBorder)) continue;
          const bool box = fits(bottom, left.at, right.at) && fits(left, top.at, bottom.at) &&
                           fits(right, top.at, bottom.at);
          const PixelBox found{left.at, top.at, right.at - left.at, bottom.at - top.at};
          if (box && IsInset(greys.front(), found))
            return PixelBox{step * found.x, step * found.y, step * found.width, step * found.height};
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace lumen
