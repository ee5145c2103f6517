#include "lumen/io/fine_view.h"

#include <algorithm>
#include <array>
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

RgbImage Boxes(ImageView<const uint8_t> rgb, int box) {
  RgbImage boxes(rgb.Width() / box, rgb.Height() / box, 3);
  const auto area = static_cast<uint32_t>(box * box);
  for (int y = 0; y < boxes.Height(); ++y) {
    for (int x = 0; x < boxes.Width(); ++x) {
      std::array<uint32_t, 3> sum = {area / 2, area / 2, area / 2};
      for (int j = 0; j < box; ++j) {
        const uint8_t* in = rgb.Pixel(x * box, y * box + j);
        for (int i = 0; i < 3 * box; ++i) sum[static_cast<size_t>(i % 3)] += in[i];
      }
      for (int c = 0; c < 3; ++c) boxes(x, y, c) = static_cast<uint8_t>(sum[static_cast<size_t>(c)] / area);
    }
  }
  return boxes;
}

RgbImage Copy(ImageView<const uint8_t> rgb) {
  RgbImage copy(rgb.Width(), rgb.Height(), 3);
  std::copy(rgb.Data(), rgb.Data() + copy.Size(), copy.Data());
  return copy;
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
    const size_t column = i % static_cast<size_t>(target_.Width()),
                 row = i / static_cast<size_t>(target_.Width());
    const auto direction = target_.Unproject({static_cast<double>(column), static_cast<double>(row)});
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

RgbImage FineView::Apply(ImageView<const uint8_t> rgb) const {
  if (times_ == 0) return {};
  LUMEN_CHECK(SameSize(rgb, source_) && rgb.Channels() == 3, rgb.Width(), "x", rgb.Height());
  if (identity_) return Copy(rgb);
  const RgbImage boxes = box_ > 1 ? Boxes(rgb, box_) : RgbImage();
  const ImageView<const uint8_t> from = box_ > 1 ? boxes.View() : rgb;
  RgbImage fine(target_.Width(), target_.Height(), 3);
  const int64_t below = 3 * static_cast<int64_t>(from.Width());
  for (size_t i = 0; i < samples_.size(); ++i) {
    const Sample& sample = samples_[i];
    if (sample.x < 0) continue;
    const uint8_t* p = from.Pixel(sample.x, sample.y);
    const uint32_t a = sample.a, b = sample.b;
    for (int c = 0; c < 3; ++c, ++p) {
      const uint32_t top = p[0] * (256 - a) + p[3] * a;
      const uint32_t bottom = p[below] * (256 - a) + p[below + 3] * a;
      fine.Data()[3 * i + static_cast<size_t>(c)] =
          static_cast<uint8_t>((top * (256 - b) + bottom * b + (1U << 15)) >> 16);
    }
  }
  return fine;
}

}  // namespace lumen
