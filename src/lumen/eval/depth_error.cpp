#include "lumen/eval/depth_error.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"

namespace lumen {

namespace {

bool Known(float depth) { return depth > 0 && std::isfinite(depth); }

// Between two pixels as the half-pixel rule does, so that rounding never decides.
int64_t NearestPixel(double u) { return static_cast<int64_t>(std::floor(u + 0.5 + 1e-6)); }

template <typename Visit>
void ForEachKnown(ImageView<const float> estimate, ImageView<const float> truth, const Visit& visit) {
  LUMEN_CHECK(SameSize(estimate, truth), "depth maps must be on one grid");
  const int64_t size = static_cast<int64_t>(estimate.Width()) * estimate.Height();
  for (int64_t i = 0; i < size; ++i) {
    if (Known(estimate.Data()[i]) && Known(truth.Data()[i]))
      visit(static_cast<double>(estimate.Data()[i]), static_cast<double>(truth.Data()[i]));
  }
}

}  // namespace

TruthSampler::TruthSampler(int width, int height, int truth_width, int truth_height)
    : width_(width), height_(height), truth_width_(truth_width), truth_height_(truth_height) {
  const auto nearest = [](int x, int size, int truth_size) {
    return std::min<int64_t>(truth_size - 1, NearestPixel((x + 0.5) * truth_size / size - 0.5));
  };
  source_.reserve(static_cast<size_t>(width) * static_cast<size_t>(height));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x)
      source_.push_back(nearest(y, height, truth_height) * truth_width + nearest(x, width, truth_width));
  }
}

TruthSampler::TruthSampler(const Camera& view, const Camera& truth_view)
    : width_(view.Width()),
      height_(view.Height()),
      truth_width_(truth_view.Width()),
      truth_height_(truth_view.Height()) {
  const auto find = [&](int x, int y) -> int64_t {
    const auto ray = view.Unproject(Eigen::Vector2d(x, y));
    const auto uv = ray ? truth_view.Project(*ray) : std::nullopt;
    if (!uv) return -1;
    const int64_t u = NearestPixel(uv->x());
    const int64_t v = NearestPixel(uv->y());
    return u >= 0 && v >= 0 && u < truth_width_ && v < truth_height_ ? v * truth_width_ + u : -1;
  };
  source_.reserve(static_cast<size_t>(width_) * static_cast<size_t>(height_));
  for (int y = 0; y < height_; ++y)
    for (int x = 0; x < width_; ++x) source_.push_back(find(x, y));
}

DepthImage TruthSampler::Sample(ImageView<const float> truth) const {
  LUMEN_CHECK(truth.Width() == truth_width_ && truth.Height() == truth_height_);
  DepthImage sampled(width_, height_);
  for (size_t i = 0; i < source_.size(); ++i)
    sampled.Data()[i] = source_[i] < 0 ? 0.0F : truth.Data()[source_[i]];
  return sampled;
}

std::optional<DepthScores> ScoreDepth(ImageView<const float> estimate, ImageView<const float> truth,
                                      double scale) {
  DepthScores scores;
  ForEachKnown(estimate, truth, [&](double unscaled, double expected) {
    const double depth = scale * unscaled;
    scores.ard += std::abs(depth - expected) / expected;
    const double ratio = std::max(depth / expected, expected / depth);
    for (size_t k = 0; k < kDepthThresholds.size(); ++k)
      if (ratio < kDepthThresholds[k]) ++scores.within[k];
    ++scores.valid;
  });
  if (scores.valid < kLeastValidPixels) return std::nullopt;
  scores.ard /= static_cast<double>(scores.valid);
  for (double& within : scores.within) within /= static_cast<double>(scores.valid);
  return scores;
}

std::optional<double> MedianDepthRatio(ImageView<const float> estimate, ImageView<const float> truth) {
  std::vector<double> ratios;
  ForEachKnown(estimate, truth, [&](double depth, double expected) { ratios.push_back(expected / depth); });
  if (static_cast<int64_t>(ratios.size()) < kLeastValidPixels) return std::nullopt;
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  if (ratios.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(ratios.begin(), middle)) / 2;
}

DepthImage NearEdges(ImageView<const float> truth, int reach) {
  constexpr double kEdge = 7.0 / 6;  // ratio of two neighbours
  DepthImage near(truth.Width(), truth.Height());
  const auto mark = [&](int x, int y) {
    for (int v = std::max(0, y - reach); v <= std::min(near.Height() - 1, y + reach); ++v) {
      for (int u = std::max(0, x - reach); u <= std::min(near.Width() - 1, x + reach); ++u)
        near(u, v) = truth(u, v);
    }
  };
  const auto is_edge = [](double a, double b) {
    return a > 0 && b > 0 && std::max(a, b) > kEdge * std::min(a, b);
  };
  for (int y = 0; y < near.Height(); ++y) {
    for (int x = 0; x < near.Width(); ++x) {
      if (x + 1 < near.Width() && is_edge(truth(x, y), truth(x + 1, y))) {
        mark(x, y);
        mark(x + 1, y);
      }
      if (y + 1 < near.Height() && is_edge(truth(x, y), truth(x, y + 1))) {
        mark(x, y);
        mark(x, y + 1);
      }
    }
  }
  return near;
}

void DepthMean::Add(const DepthScores& scores) {
  sum_.ard += scores.ard;
  for (size_t k = 0; k < sum_.within.size(); ++k) sum_.within[k] += scores.within[k];
  sum_.valid += scores.valid;
  ++maps_;
}

DepthScores DepthMean::Mean() const {
  LUMEN_CHECK(maps_ > 0);
  DepthScores mean = sum_;
  mean.ard /= static_cast<double>(maps_);
  for (double& within : mean.within) within /= static_cast<double>(maps_);
  return mean;
}

}  // namespace lumen
