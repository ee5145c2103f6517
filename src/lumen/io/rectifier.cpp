#include "lumen/io/rectifier.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/log.h"
#include "lumen/base/text.h"
#include "lumen/image/mask.h"

namespace lumen {

namespace {

constexpr double kSquare = 1e-3;
constexpr double kNarrow = 46, kWide = 50;  // degrees off the axis: a pinhole up to here, even from there on
constexpr double kEvenAlpha = 0.62;         // pixels per angle are even within 6 % up to 80°
constexpr double kLeastContent = 0.02;      // share of the picture
constexpr double kMostLost = 0.25;          // share of the content that may lie beyond the view
constexpr double kMostUnseen = 0.05;        // share of the content that may have no direction at all
constexpr double kWorthALine = 0.02;

double Degrees(double radians) { return radians * 180 / M_PI; }

bool HasSquarePixels(const UnifiedCamera& camera) { return std::abs(camera.fx / camera.fy - 1) < kSquare; }

// What the content sees: its directions, at the borders of its pixels, coarsely inside and at all its edges.
struct Directions {
  std::vector<Eigen::Vector3d> within;  // unit vectors, up to the largest angle that is shown
  double half_angle = 0;                // degrees, of those
  double unseen = 0, beyond = 0;  // share of the content without direction, and of that with too large a one
};

template <typename Visit>
void ForEachEdgePixel(const Mask& content, const Visit& visit) {
  for (int y = 0; y < content.Height(); ++y) {
    const uint8_t* row = content.Row(y);
    for (int x = 0; x < content.Width(); ++x) {
      if (row[x] == 0) continue;
      const bool edge = x == 0 || y == 0 || x == content.Width() - 1 || y == content.Height() - 1 ||
                        row[x - 1] == 0 || row[x + 1] == 0 || content(x, y - 1) == 0 ||
                        content(x, y + 1) == 0;
      if (edge) visit(x, y);
    }
  }
}

Directions FindDirections(const Camera& source, const Mask& content, double max_half_angle_degrees) {
  Directions directions;
  const double least_forward = std::cos(max_half_angle_degrees * M_PI / 180);
  double forward = 1;
  const auto add = [&](double u, double v) {
    const auto direction = source.Unproject({u, v});
    if (!direction || direction->z() < least_forward) return;
    directions.within.push_back(*direction);
    forward = std::min(forward, direction->z());
  };
  // The edge bounds the region; a coarse grid inside catches what the limit cuts.
  ForEachEdgePixel(content, [&](int x, int y) {
    add(x - 0.5, y - 0.5);
    add(x + 0.5, y + 0.5);
  });
  const int step = std::max(1, content.Width() / 400);
  int64_t seen = 0, unseen = 0, beyond = 0;
  for (int y = step / 2; y < content.Height(); y += step) {
    for (int x = step / 2; x < content.Width(); x += step) {
      if (content(x, y) == 0) continue;
      ++seen;
      const auto direction = source.Unproject({x, y});
      unseen += direction ? 0 : 1;
      beyond += direction && direction->z() < least_forward ? 1 : 0;
      add(x, y);
    }
  }
  directions.half_angle = Degrees(std::acos(std::clamp(forward, -1.0, 1.0)));
  directions.unseen = seen > 0 ? static_cast<double>(unseen) / static_cast<double>(seen) : 0;
  directions.beyond = seen > 0 ? static_cast<double>(beyond) / static_cast<double>(seen) : 0;
  return directions;
}

std::string Percent(double share) { return StrCat(static_cast<int>(std::lround(100 * share)), " %"); }

void CheckDirections(const Directions& directions, const Mask& content, double max_half_angle_degrees) {
  const double share = static_cast<double>(CountMask(content)) / static_cast<double>(content.Size());
  if (share == 0) throw InputError("the mask leaves no part of the image");
  if (share < kLeastContent)
    throw InputError(StrCat("the mask shows only ", FormatDouble(std::round(1000 * share) / 10),
                            " % of the picture: too little to find a way by"));
  if (directions.unseen > kMostUnseen)
    throw InputError(StrCat("the calibration has no direction for ", Percent(directions.unseen),
                            " of what the mask shows: its polynomial does not grow that far out (a wrong "
                            "calibration, or give a mask that ends before)"));
  if (directions.beyond > kMostLost)
    throw InputError(StrCat("by the calibration ", Percent(directions.beyond),
                            " of what the mask shows lies more than ", max_half_angle_degrees,
                            "° off the lens's axis, and a view holds no more: wrong calibration, or give a "
                            "mask that ends there"));
  if (directions.within.empty()) throw InputError("the mask leaves no part of the image");
  if (directions.unseen + directions.beyond > kWorthALine)
    LogWarning(Percent(directions.unseen + directions.beyond), " of the picture lies more than ",
               max_half_angle_degrees, "° off the lens's axis, or has no direction, and is left out");
}

// Extent of directions on the camera's plane of f = 1: [left, right] × [top, bottom].
struct PlaneBox {
  double left = 1e9, right = -1e9, top = 1e9, bottom = -1e9;
};

PlaneBox FindPlaneBox(const std::vector<Eigen::Vector3d>& directions, double alpha) {
  const UnifiedCamera camera(1, 1, 0, 0, alpha);
  PlaneBox box;
  for (const Eigen::Vector3d& direction : directions) {
    const auto p = camera.Project(direction);
    if (!p) continue;
    box.left = std::min(box.left, p->x());
    box.right = std::max(box.right, p->x());
    box.top = std::min(box.top, p->y());
    box.bottom = std::max(box.bottom, p->y());
  }
  return box;
}

// A narrow pinhole, or a view that was chosen already, of the right shape.
bool IsAlreadyRight(const Camera& source, double half_angle, const RectifierOptions& options) {
  const auto unified = source.AsUnified();
  if (!unified || !HasSquarePixels(*unified)) return false;
  if (unified->IsPinhole() && half_angle > kNarrow) return false;
  if (options.alpha >= 0 && options.alpha != unified->alpha) return false;
  const double shape = static_cast<double>(source.Width()) / source.Height();
  return std::abs(shape / (static_cast<double>(options.width) / options.height) - 1) < kSquare;
}

}  // namespace

void RectifierOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("width", width,
                {.min = 32, .max = 4096, .unit = "px", .help = "of the view everything works on"});
  visitor.Field("height", height,
                {.min = 32, .max = 4096, .unit = "px", .help = "of the view everything works on"});
  visitor.Field("max_half_angle_degrees", max_half_angle_degrees,
                {.min = 10, .max = 85, .unit = "°", .help = "how much of a wide lens the view may show"});
  visitor.Field("alpha", alpha,
                {.min = -1,
                 .max = 0.9,
                 .help = "how the view bends: 0 a pinhole, 0.62 even pixels per angle, -1 by the lens"});
}

double AlphaForHalfAngle(double degrees) {
  return kEvenAlpha * std::clamp((degrees - kNarrow) / (kWide - kNarrow), 0.0, 1.0);
}

Camera MakeTargetCamera(const Camera& source, const Mask& content, const RectifierOptions& options) {
  const Directions directions = FindDirections(source, content, options.max_half_angle_degrees);
  CheckDirections(directions, content, options.max_half_angle_degrees);
  if (IsAlreadyRight(source, directions.half_angle, options))
    return source.Resized(options.width, options.height);
  const double alpha = options.alpha >= 0 ? options.alpha : AlphaForHalfAngle(directions.half_angle);
  const PlaneBox box = FindPlaneBox(directions.within, alpha);
  if (!(box.right > box.left) || !(box.bottom > box.top))
    throw InputError("the mask leaves no part of the image");
  const double f = std::min(options.width / (box.right - box.left), options.height / (box.bottom - box.top));
  // The content's centre sits in the middle of the view.
  const double cx = 0.5 * (options.width - 1) - f * 0.5 * (box.left + box.right);
  const double cy = 0.5 * (options.height - 1) - f * 0.5 * (box.top + box.bottom);
  if (alpha == 0) return {PinholeCamera{f, f, cx, cy}, options.width, options.height};
  return {UnifiedCamera{f, f, cx, cy, alpha}, options.width, options.height};
}

Rectifier::Rectifier(const Camera& source, const Mask& content, const RectifierOptions& options)
    : source_(source),
      target_(MakeTargetCamera(source, content, options)),
      least_forward_(std::cos(options.max_half_angle_degrees * M_PI / 180)) {
  LUMEN_CHECK(SameSize(source, content));
  identity_ = target_ == source_;
  BuildMap(content);
  ComputeTargetMask(content);
}

void Rectifier::BuildMap(const Mask& content) {
  // How many source pixels one target pixel covers, at the middle of the view.
  const auto at = [&](double u, double v) -> std::optional<Eigen::Vector2d> {
    const auto direction = target_.Unproject({u, v});
    if (!direction || direction->z() < least_forward_) return std::nullopt;
    return source_.Project(*direction);
  };
  const double mid_u = 0.5 * target_.Width();
  const double mid_v = 0.5 * target_.Height();
  const auto here = at(mid_u, mid_v);
  const auto right = at(mid_u + 1, mid_v);
  const double scale = here && right ? std::max(1.0, (*right - *here).norm()) : 1.0;
  box_ = std::clamp(static_cast<int>(std::lround(scale / 2)), 1, 16);
  per_side_ = std::clamp(static_cast<int>(std::lround(scale / box_)), 1, 8);

  const int reduced_width = content.Width() / box_;
  const int reduced_height = content.Height() / box_;
  samples_.reserve(static_cast<size_t>(target_.Width()) * target_.Height() * per_side_ * per_side_);
  first_row_ = reduced_height;
  last_row_ = -1;
  for (int v = 0; v < target_.Height(); ++v) {
    for (int u = 0; u < target_.Width(); ++u) {
      for (int s = 0; s < per_side_ * per_side_; ++s) {
        const int column = s % per_side_, row = s / per_side_;
        const double du = (column + 0.5) / per_side_ - 0.5;
        const double dv = (row + 0.5) / per_side_ - 0.5;
        const auto uv = at(u + du, v + dv);
        Sample sample{-1, -1, 0, 0};
        const bool seen = uv && uv->x() > -0.5 && uv->y() > -0.5 && uv->x() < content.Width() - 0.5 &&
                          uv->y() < content.Height() - 0.5;
        if (seen) {
          const double x = std::clamp((uv->x() + 0.5) / box_ - 0.5, 0.0, reduced_width - 1.0);
          const double y = std::clamp((uv->y() + 0.5) / box_ - 0.5, 0.0, reduced_height - 1.0);
          sample.x = std::min(static_cast<int32_t>(x), std::max(0, reduced_width - 2));
          sample.y = std::min(static_cast<int32_t>(y), std::max(0, reduced_height - 2));
          sample.a = static_cast<float>(x - sample.x);
          sample.b = static_cast<float>(y - sample.y);
          first_row_ = std::min(first_row_, sample.y);
          last_row_ = std::max(last_row_, std::min(sample.y + 1, reduced_height - 1));
        }
        samples_.push_back(sample);
      }
    }
  }
}

void Rectifier::ComputeTargetMask(const Mask& content) {
  // Resampled like a picture; what is not wholly content is border.
  RgbImage spread(content.Width(), content.Height(), 3);
  for (size_t i = 0; i < content.Size(); ++i)
    std::fill_n(spread.Data() + 3 * i, 3, static_cast<uint8_t>(content.Data()[i] != 0 ? 255 : 0));
  const RgbImage seen = Apply(spread);
  target_mask_ = Mask(target_.Width(), target_.Height());
  for (size_t i = 0; i < target_mask_.Size(); ++i)
    target_mask_.Data()[i] = seen.Data()[3 * i] >= 250 ? 255 : 0;
}

namespace {

// Sums boxes of box × box source pixels; 16 · 16 · 255 still fits 16 bits.
Image<uint16_t> SumBoxes(ImageView<const uint8_t> rgb, int box, int first_row, int last_row) {
  const int width = rgb.Width() / box;
  Image<uint16_t> sums(width, rgb.Height() / box, 3);
  std::vector<uint16_t> columns(static_cast<size_t>(width) * box * 3);
  for (int y = first_row; y <= last_row; ++y) {
    std::fill(columns.begin(), columns.end(), uint16_t{0});
    for (int k = 0; k < box; ++k) {
      const uint8_t* source = rgb.Row(y * box + k);
      for (size_t i = 0; i < columns.size(); ++i) columns[i] = static_cast<uint16_t>(columns[i] + source[i]);
    }
    uint16_t* out = sums.Row(y);
    for (int x = 0; x < width; ++x) {
      const uint16_t* column = &columns[static_cast<size_t>(x) * box * 3];
      uint16_t r = 0, g = 0, b = 0;
      for (int k = 0; k < box; ++k) {
        r = static_cast<uint16_t>(r + column[3 * k]);
        g = static_cast<uint16_t>(g + column[3 * k + 1]);
        b = static_cast<uint16_t>(b + column[3 * k + 2]);
      }
      out[3 * x] = r;
      out[3 * x + 1] = g;
      out[3 * x + 2] = b;
    }
  }
  return sums;
}

}  // namespace

RgbImage Rectifier::Apply(ImageView<const uint8_t> rgb) const {
  LUMEN_CHECK(SameSize(rgb, source_) && rgb.Channels() == 3, rgb.Width(), "x", rgb.Height());
  RgbImage out(target_.Width(), target_.Height(), 3);
  if (identity_) {
    std::copy_n(rgb.Data(), out.Size(), out.Data());
    return out;
  }
  const Image<uint16_t> boxes = SumBoxes(rgb, box_, first_row_, last_row_);
  const int count = per_side_ * per_side_;
  const float scale = 1.0F / static_cast<float>(box_ * box_ * count);
  const int right = boxes.Width() > 1 ? 3 : 0;
  const int64_t below = boxes.Height() > 1 ? static_cast<int64_t>(boxes.Width()) * 3 : 0;
  const Sample* sample = samples_.data();
  for (size_t i = 0; i < out.Size(); i += 3) {
    float sum[3] = {0, 0, 0};
    for (int s = 0; s < count; ++s, ++sample) {
      if (sample->x < 0) continue;
      const uint16_t* p = boxes.Pixel(sample->x, sample->y);
      const float w11 = sample->a * sample->b;
      const float w10 = sample->a - w11;
      const float w01 = sample->b - w11;
      const float w00 = 1 - sample->a - w01;
      for (int c = 0; c < 3; ++c)
        sum[c] += w00 * p[c] + w10 * p[c + right] + w01 * p[c + below] + w11 * p[c + right + below];
    }
    for (int c = 0; c < 3; ++c)
      out.Data()[i + c] = static_cast<uint8_t>(std::min(255.0F, sum[c] * scale + 0.5F));
  }
  return out;
}

DepthImage ResampleDepth(const DepthImage& depth, const Camera& source, const Camera& target) {
  DepthImage out(target.Width(), target.Height());
  for (int y = 0; y < out.Height(); ++y) {
    for (int x = 0; x < out.Width(); ++x) {
      const auto uv = SeenThrough(target, {x, y}, source);
      if (!uv) continue;
      const auto u = static_cast<int>(std::lround(uv->x()));
      const auto v = static_cast<int>(std::lround(uv->y()));
      if (depth.Contains(u, v)) out(x, y) = depth(u, v);
    }
  }
  return out;
}

}  // namespace lumen
