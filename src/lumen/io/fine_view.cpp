#include "lumen/io/fine_view.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"

namespace lumen {

namespace {

constexpr double kWorthIt = 0.8;  // source pixels a fine pixel must cover, side by side
constexpr int kMostTimes = 4;

// Source pixels that one pixel in the middle of the view covers, side by side.
double PixelsPerPixel(const Camera& source, const Camera& view) {
  const auto at = [&](double u) -> std::optional<Eigen::Vector2d> {
    const auto direction = view.Unproject({u, 0.5 * view.Height()});
    return direction ? source.Project(*direction) : std::nullopt;
  };
  const auto here = at(0.5 * view.Width()), right = at(0.5 * view.Width() + 1);
  return here && right ? (*right - *here).norm() : 1;
}

// Grey as tissue shows its vessels: mostly green.
uint32_t GreyOf(const uint8_t* rgb) { return (51U * rgb[0] + 154U * rgb[1] + 51U * rgb[2] + 128U) >> 8; }

Image<uint8_t> GreyBoxes(ImageView<const uint8_t> rgb, int box) {
  Image<uint8_t> grey(rgb.Width() / box, rgb.Height() / box);
  const auto half = static_cast<uint32_t>(box * box / 2);
  for (int y = 0; y < grey.Height(); ++y) {
    uint8_t* out = grey.Row(y);
    if (box == 1) {
      const uint8_t* in = rgb.Row(y);
      for (int x = 0; x < grey.Width(); ++x) out[x] = static_cast<uint8_t>(GreyOf(in + 3 * x));
      continue;
    }
    for (int x = 0; x < grey.Width(); ++x) {
      uint32_t sum = half;
      for (int j = 0; j < box; ++j) {
        for (int i = 0; i < box; ++i) sum += GreyOf(rgb.Pixel(x * box + i, y * box + j));
      }
      out[x] = static_cast<uint8_t>(sum / static_cast<uint32_t>(box * box));
    }
  }
  return grey;
}

}  // namespace

FineView::FineView(const Camera& source, const Camera& view, double max_half_angle_degrees)
    : source_(source) {
  const double scale = PixelsPerPixel(source, view);
  for (int times = kMostTimes; times >= 2 && times_ == 0; times /= 2) {
    if (scale >= kWorthIt * times) times_ = times;
  }
  if (times_ == 0) return;
  target_ = view.Resized(times_ * view.Width(), times_ * view.Height());
  identity_ = target_ == source_;
  if (identity_) return;
  box_ = std::clamp(static_cast<int>(std::lround(scale / times_)), 1, 16);
  const int width = source.Width() / box_, height = source.Height() / box_;
  const double least_forward = std::cos(max_half_angle_degrees * M_PI / 180);
  samples_.resize(static_cast<size_t>(target_.Width()) * static_cast<size_t>(target_.Height()));
  for (size_t i = 0; i < samples_.size(); ++i) {
    const auto column = static_cast<double>(i % static_cast<size_t>(target_.Width()));
    const auto row = static_cast<double>(i / static_cast<size_t>(target_.Width()));
    const auto direction = target_.Unproject({column, row});
    if (!direction || direction->z() < least_forward) continue;
    const auto uv = source.Project(*direction);
    if (!uv) continue;
    const double x = (uv->x() + 0.5) / box_ - 0.5, y = (uv->y() + 0.5) / box_ - 0.5;
    if (!(x >= 0 && y >= 0 && x < width - 1 && y < height - 1)) continue;
    Sample& sample = samples_[i];
    sample.x = static_cast<int32_t>(x);
    sample.y = static_cast<int32_t>(y);
    sample.a = static_cast<uint16_t>(256 * (x - sample.x));
    sample.b = static_cast<uint16_t>(256 * (y - sample.y));
  }
}

Image<uint8_t> FineView::Apply(ImageView<const uint8_t> rgb) const {
  if (times_ == 0) return {};
  LUMEN_CHECK(SameSize(rgb, source_) && rgb.Channels() == 3, rgb.Width(), "x", rgb.Height());
  Image<uint8_t> boxes = GreyBoxes(rgb, box_);
  if (identity_) return boxes;
  Image<uint8_t> fine(target_.Width(), target_.Height());
  const int64_t below = boxes.Width();
  for (size_t i = 0; i < samples_.size(); ++i) {
    const Sample& sample = samples_[i];
    if (sample.x < 0) continue;
    const uint8_t* p = boxes.Pixel(sample.x, sample.y);
    const uint32_t a = sample.a, b = sample.b;
    const uint32_t top = p[0] * (256 - a) + p[1] * a;
    const uint32_t bottom = p[below] * (256 - a) + p[below + 1] * a;
    fine.Data()[i] = static_cast<uint8_t>((top * (256 - b) + bottom * b + (1U << 15)) >> 16);
  }
  return fine;
}

}  // namespace lumen
