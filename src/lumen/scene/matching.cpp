#include "lumen/scene/matching.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>

#include "lumen/base/random.h"
#include "lumen/image/float4.h"
#include "lumen/image/gemm_kernel.h"

namespace lumen {

namespace {

constexpr int kStrip = 320;  // columns scored at a time: eight rows of them fit the first cache
constexpr float kFar = 1e30F;

float SquaredNorm(const float* f, int channels) {
  float sum = 0;
  for (int c = 0; c < channels; ++c) sum += f[c] * f[c];
  return sum;
}

// Numbers that are not finite, or whose squares are not, match nothing.
bool IsUsable(const float* f, int channels) { return SquaredNorm(f, channels) < kFar; }

// Smallest of the strip, whose length is a multiple of sixteen; four chains of comparisons, so that none
// waits for another.
float SmallestOf(const float* scores, int count) {
  Float4 low[4];
  for (int k = 0; k < 4; ++k) low[k] = Load4(scores + 4 * k);
  for (int j = 16; j < count; j += 16) {
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) low[k] = Min4(low[k], Load4(scores + j + 4 * k));
  }
  const Float4 all = Min4(Min4(low[0], low[1]), Min4(low[2], low[3]));
  return std::min(std::min(all[0], all[1]), std::min(all[2], all[3]));
}

}  // namespace

void MatchOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("keypoints", keypoints,
                {.min = 8, .max = 5120, .help = "pixels of the keyframe that are matched"});
  visitor.Field("cycle_distance", cycle_distance,
                {.min = 0, .max = 100, .unit = "px", .help = "how far the way back may end from the start"});
  visitor.Field("subpixel", subpixel, {.help = "refine matches below the pixel"});
}

std::vector<Eigen::Vector2i> SampleKeypoints(ImageView<const uint8_t> mask, int count, uint64_t seed) {
  std::vector<Eigen::Vector2i> pixels;
  for (int y = 0; y < mask.Height(); ++y) {
    for (int x = 0; x < mask.Width(); ++x) {
      if (mask(x, y) != 0) pixels.emplace_back(x, y);
    }
  }
  Random random(seed);
  const auto wanted = std::min(static_cast<size_t>(std::max(0, count)), pixels.size());
  for (size_t i = 0; i < wanted; ++i) {  // the first part of a shuffle
    std::swap(pixels[i], pixels[static_cast<size_t>(random.UniformInt(
                             static_cast<int64_t>(i), static_cast<int64_t>(pixels.size()) - 1))]);
  }
  pixels.resize(wanted);
  return pixels;
}

DescriptorIndex::DescriptorIndex(ImageView<const float> descriptors, ImageView<const uint8_t> mask)
    : channels_(descriptors.Channels()) {
  LUMEN_CHECK(SameSize(descriptors, mask));
  for (int y = 0; y < mask.Height(); ++y) {
    for (int x = 0; x < mask.Width(); ++x) {
      if (mask(x, y) != 0 && IsUsable(descriptors.Pixel(x, y), channels_)) pixels_.emplace_back(x, y);
    }
  }
  padded_ = (NumPixels() + 15) / 16 * 16;
  columns_.assign(static_cast<size_t>(channels_ + 1) * padded_, 0.0F);
  float* norms = columns_.data() + static_cast<size_t>(channels_) * padded_;
  std::fill(norms, norms + padded_, kFar);  // the padding is far from everything
  for (int i = 0; i < NumPixels(); ++i) {
    const float* f = descriptors.Pixel(pixels_[i].x(), pixels_[i].y());
    for (int c = 0; c < channels_; ++c) columns_[static_cast<size_t>(c) * padded_ + i] = f[c];
    norms[i] = SquaredNorm(f, channels_);
  }
}

// |q − f|² = |q|² − 2 q·f + |f|²: the first term is the same for all f, the rest is one product with the
// norms as a last row.
std::vector<Eigen::Vector2i> DescriptorIndex::FindNearest(const std::vector<const float*>& queries) const {
  const GemmKernel& kernel = BestGemmKernel();
  std::vector<Eigen::Vector2i> nearest(queries.size(), Eigen::Vector2i(-1, -1));
  if (pixels_.empty()) return nearest;
  std::vector<float> weights(static_cast<size_t>(channels_ + 1) * kKernelChannels);
  std::vector<float> scores(static_cast<size_t>(kKernelChannels) * kStrip);
  for (size_t first = 0; first < queries.size(); first += kKernelChannels) {
    const int count = static_cast<int>(std::min<size_t>(kKernelChannels, queries.size() - first));
    for (int q = 0; q < count; ++q) {
      for (int c = 0; c < channels_; ++c)
        weights[static_cast<size_t>(c) * kKernelChannels + q] = -2 * queries[first + q][c];
      weights[static_cast<size_t>(channels_) * kKernelChannels + q] = 1;
    }
    float best[kKernelChannels];
    std::fill_n(best, kKernelChannels, std::numeric_limits<float>::infinity());
    for (int begin = 0; begin < padded_; begin += kStrip) {
      const int length = std::min(kStrip, padded_ - begin);
      for (int j = 0; j < length; j += kernel.columns) {
        kernel.with_stride(weights.data(), columns_.data() + begin + j, padded_, channels_ + 1,
                           scores.data() + j, kStrip);
      }
      for (int q = 0; q < count; ++q) {
        const float* row = scores.data() + static_cast<size_t>(q) * kStrip;
        const float low = SmallestOf(row, length);
        if (!(low < best[q])) continue;
        best[q] = low;
        nearest[first + q] = pixels_[static_cast<size_t>(begin + (std::find(row, row + length, low) - row))];
      }
    }
  }
  return nearest;
}

namespace {

// One Gauss–Newton step on |q − f(uv)|² from the best pixel, within a pixel of it.
Eigen::Vector2d RefineBelowPixel(const float* query, ImageView<const float> descriptors,
                                 const Eigen::Vector2i& at) {
  Eigen::Vector2d start = at.cast<double>();
  if (at.x() < 1 || at.y() < 1 || at.x() >= descriptors.Width() - 1 || at.y() >= descriptors.Height() - 1)
    return start;
  const float* f = descriptors.Pixel(at.x(), at.y());
  const float* left = descriptors.Pixel(at.x() - 1, at.y());
  const float* right = descriptors.Pixel(at.x() + 1, at.y());
  const float* up = descriptors.Pixel(at.x(), at.y() - 1);
  const float* down = descriptors.Pixel(at.x(), at.y() + 1);
  Eigen::Matrix2d h = Eigen::Matrix2d::Zero();
  Eigen::Vector2d b = Eigen::Vector2d::Zero();
  for (int c = 0; c < descriptors.Channels(); ++c) {
    const Eigen::Vector2d slope(0.5 * (right[c] - left[c]), 0.5 * (down[c] - up[c]));
    h += slope * slope.transpose();
    b += slope * (query[c] - f[c]);
  }
  if (!(h.determinant() > 1e-9 * h.trace() * h.trace())) return start;
  const Eigen::Vector2d step = h.inverse() * b;
  return step.allFinite() && step.cwiseAbs().maxCoeff() <= 1.0 ? (start + step).eval() : start;
}

}  // namespace

MatchSet MatchDescriptors(const MatchFrame& source, const std::vector<Eigen::Vector2i>& keypoints,
                          const MatchFrame& target, const MatchOptions& options) {
  LUMEN_CHECK(source.index != nullptr && target.index != nullptr &&
              source.descriptors.Channels() == target.descriptors.Channels());
  MatchSet set;
  set.candidates = static_cast<int>(keypoints.size());
  if (source.index->NumPixels() == 0 || target.index->NumPixels() == 0) return set;
  const auto descriptors_at = [](const MatchFrame& frame, const std::vector<Eigen::Vector2i>& pixels) {
    std::vector<const float*> descriptors;
    descriptors.reserve(pixels.size());
    for (const Eigen::Vector2i& uv : pixels) descriptors.push_back(frame.descriptors.Pixel(uv.x(), uv.y()));
    return descriptors;
  };
  std::vector<Eigen::Vector2i> tried = keypoints;
  std::erase_if(tried, [&](const Eigen::Vector2i& uv) {
    return !IsUsable(source.descriptors.Pixel(uv.x(), uv.y()), source.descriptors.Channels());
  });
  const std::vector<const float*> queries = descriptors_at(source, tried);
  const std::vector<Eigen::Vector2i> there = target.index->FindNearest(queries);
  const std::vector<Eigen::Vector2i> back = source.index->FindNearest(descriptors_at(target, there));
  for (size_t i = 0; i < tried.size(); ++i) {
    if ((back[i] - tried[i]).cast<double>().norm() > options.cycle_distance) continue;
    Match match{tried[i], there[i].cast<double>()};
    if (options.subpixel) match.target = RefineBelowPixel(queries[i], target.descriptors, there[i]);
    set.matches.push_back(match);
  }
  return set;
}

}  // namespace lumen
