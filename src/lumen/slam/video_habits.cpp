#include "lumen/slam/video_habits.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"

namespace lumen {

namespace {
constexpr double kNoiseMemory = 60;      // frames over which depth noise is averaged
constexpr double kContrastMemory = 100;  // likewise the contrast
}  // namespace

double DescriptorContrast(const Image<float>& descriptors, const Mask& mask) {
  LUMEN_CHECK(SameSize(descriptors, mask));
  const int channels = descriptors.Channels();
  std::vector<double> sum(static_cast<size_t>(channels), 0.0);
  double squares = 0;
  int64_t count = 0;
  for (int y = 0; y < mask.Height(); ++y) {
    for (int x = 0; x < mask.Width(); ++x) {
      if (mask(x, y) == 0) continue;
      const float* descriptor = descriptors.Pixel(x, y);
      for (int c = 0; c < channels; ++c) {
        sum[static_cast<size_t>(c)] += descriptor[c];
        squares += static_cast<double>(descriptor[c]) * descriptor[c];
      }
      ++count;
    }
  }
  if (count == 0) return 0;
  const auto n = static_cast<double>(count);
  for (const double s : sum) squares -= s * s / n;
  return std::max(0.0, squares / n);
}

void VideoHabits::NoteDepthSpread(double spread) {
  const double seen = std::clamp(options_.noise_ratio * spread, options_.least_noise,
                                 std::max(options_.least_noise, options_.most_noise));
  depth_noise_ *= std::pow(seen / depth_noise_, 1 / kNoiseMemory);
}

void VideoHabits::NoteContrast(double contrast) {
  contrasts_ = std::min(contrasts_ + 1, static_cast<int>(kContrastMemory));
  usual_contrast_ += (contrast - usual_contrast_) / contrasts_;
}

void VideoHabits::NoteFrame(bool is_keyframe) {
  in_a_row_ = is_keyframe ? in_a_row_ + 1 : 0;
  rate_ += ((is_keyframe ? 1.0 : 0.0) - rate_) / options_.rate_frames;
}

double VideoHabits::Crowding() const {
  const double range = std::max(1e-6, options_.crowded_rate - options_.calm_rate);
  return std::clamp((rate_ - options_.calm_rate) / range, 0.0, 1.0);
}

}  // namespace lumen
