#include "lumen/sim/sensor.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/random.h"
#include "lumen/image/sample.h"
#include "lumen/sim/noise.h"

namespace lumen {

namespace {

constexpr int kToneSteps = 4096;
constexpr float kBlack = 0.003F;  // what is darker is black: cameras crush their noise floor

constexpr float kKnee = 0.5F;  // where the response stops being linear
constexpr float kSpan = 1.1F - kKnee;
constexpr int kMaxBlurTaps = 15;

float Luminance(const float* rgb) { return 0.3F * rgb[0] + 0.6F * rgb[1] + 0.1F * rgb[2]; }

// Linear up to the knee, then ever slower up to clipping: as red clips, green and blue catch up, and
// bright tissue turns pale instead of pure red.
float Shoulder(float x) { return x <= kKnee ? x : kKnee + kSpan * (1 - std::exp(-(x - kKnee) / kSpan)); }

// About a standard normal number: the sum of four uniform bytes.
float NoiseOf(uint32_t bits) {
  const uint32_t sum = (bits & 255U) + (bits >> 8 & 255U) + (bits >> 16 & 255U) + (bits >> 24);
  return (static_cast<float>(sum) - 510.0F) * (1.0F / 147.8F);
}

}  // namespace

float ComputeWantedGain(ImageView<const float> radiance, ImageView<const uint8_t> mask, float target) {
  // The mean of the square root: what is far too bright anyway does not darken all the rest.
  double sum = 0;
  int64_t count = 0;
  for (int y = 0; y < radiance.Height(); ++y) {
    for (int x = 0; x < radiance.Width(); ++x) {
      if (mask(x, y) == 0) continue;
      sum += std::sqrt(std::max(0.0F, Luminance(radiance.Pixel(x, y))));
      ++count;
    }
  }
  const double mean = count == 0 ? 0.0 : sum / static_cast<double>(count);
  return static_cast<float>(target / std::max(mean * mean, 1e-9));
}

ExposureState UpdateExposure(const ExposureState& state, float wanted_gain, float seconds, float lag) {
  const float wanted = std::log(wanted_gain);
  if (!state.settled || lag <= 0) return {wanted, true};
  return {state.log_gain + (wanted - state.log_gain) * (1 - std::exp(-seconds / lag)), true};
}

Sensor::Sensor(const SensorOptions& options, const Mask& mask, uint64_t seed)
    : options_(options),
      mask_(mask),
      seed_(MixBits(seed ^ 0x5e5e)),
      falloff_(mask.Width(), mask.Height(), 1) {
  LUMEN_CHECK(options.gamma > 0 && options.jpeg_quality >= 0 && options.jpeg_quality <= 100);
  const float half_width = 0.5F * static_cast<float>(mask.Width());
  const float half_height = 0.5F * static_cast<float>(mask.Height());
  for (int y = 0; y < mask.Height(); ++y) {
    for (int x = 0; x < mask.Width(); ++x) {
      const float u = (static_cast<float>(x) + 0.5F - half_width) / half_height;
      const float v = (static_cast<float>(y) + 0.5F - half_height) / half_height;
      falloff_(x, y) = std::max(0.0F, 1 - options.vignette * (u * u + v * v));
    }
  }
  for (int i = 0; i <= kToneSteps; ++i) {
    const float linear = static_cast<float>(i) / kToneSteps;
    tone_curve_.push_back(static_cast<uint8_t>(std::lround(255 * std::pow(linear, 1 / options.gamma))));
  }
}

RgbImage Sensor::Develop(ImageView<const float> radiance, float gain, uint64_t frame) const {
  LUMEN_CHECK(SameSize(radiance, mask_) && radiance.Channels() == 3);
  RgbImage image(radiance.Width(), radiance.Height(), 3);
  const auto stream = static_cast<uint32_t>(MixBits(seed_ + frame));
  for (int y = 0; y < radiance.Height(); ++y) {
    for (int x = 0; x < radiance.Width(); ++x) {
      if (mask_(x, y) == 0) continue;
      const float* light = radiance.Pixel(x, y);
      const uint32_t pixel = HashBits(stream, static_cast<uint32_t>(y * radiance.Width() + x));
      for (int c = 0; c < 3; ++c) {
        const float value = Shoulder(gain * falloff_(x, y) * options_.white_balance[c] * light[c]) - kBlack;
        const float noise = NoiseOf(HashBits(pixel + static_cast<uint32_t>(c) * 0x9e3779b9U));
        const float sigma = options_.read_noise + options_.shot_noise * std::sqrt(std::max(0.0F, value));
        const float seen = std::clamp(value + sigma * noise, 0.0F, 1.0F);
        image(x, y, c) = tone_curve_[static_cast<size_t>(seen * kToneSteps)];
      }
    }
  }
  if (options_.jpeg_quality > 0) {
    ApplyJpegLoss(image, options_.jpeg_quality);
    for (int y = 0; y < image.Height(); ++y) {
      for (int x = 0; x < image.Width(); ++x) {
        if (mask_(x, y) == 0) std::fill_n(image.Pixel(x, y), 3, uint8_t{0});
      }
    }
  }
  return image;
}

Image<float> BlurAlongMotion(ImageView<const float> radiance, ImageView<const float> motion,
                             ImageView<const uint8_t> mask) {
  Image<float> blurred(radiance.Width(), radiance.Height(), radiance.Channels());
  LUMEN_CHECK(radiance.Channels() == 3 && motion.Channels() == 2);
  for (int y = 0; y < radiance.Height(); ++y) {
    for (int x = 0; x < radiance.Width(); ++x) {
      if (mask(x, y) == 0) continue;
      const float* by = motion.Pixel(x, y);
      const float length = std::hypot(by[0], by[1]);
      const int taps = std::min(kMaxBlurTaps, 1 + 2 * static_cast<int>(std::ceil(0.5F * length - 0.25F)));
      float sum[3] = {0, 0, 0};
      float count = 0;
      for (int i = 0; i < taps; ++i) {
        const float t = taps == 1 ? 0.0F : static_cast<float>(i) / static_cast<float>(taps - 1) - 0.5F;
        const float u = static_cast<float>(x) + t * by[0];
        const float v = static_cast<float>(y) + t * by[1];
        const int nearest_x = static_cast<int>(std::lround(u));
        const int nearest_y = static_cast<int>(std::lround(v));
        float sample[3];
        if (!mask.Contains(nearest_x, nearest_y) || mask(nearest_x, nearest_y) == 0) continue;
        if (!SampleBilinear(radiance, u, v, sample)) continue;
        for (int c = 0; c < 3; ++c) sum[c] += sample[c];
        count += 1;
      }
      const float* still = radiance.Pixel(x, y);
      for (int c = 0; c < 3; ++c) blurred(x, y, c) = count > 0 ? sum[c] / count : still[c];
    }
  }
  return blurred;
}

Image<float> SoftenImage(ImageView<const float> image, ImageView<const uint8_t> mask, float share) {
  Image<float> soft(image.Width(), image.Height(), image.Channels());
  const float side = share / 6;
  const float corner = share / 12;
  for (int y = 0; y < image.Height(); ++y) {
    for (int x = 0; x < image.Width(); ++x) {
      if (mask(x, y) == 0) continue;
      float total = 0;
      float* out = soft.Pixel(x, y);
      for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
          if (!mask.Contains(x + dx, y + dy) || mask(x + dx, y + dy) == 0) continue;
          const float weight = dx == 0 && dy == 0 ? 1 - share : (dx == 0 || dy == 0 ? side : corner);
          const float* in = image.Pixel(x + dx, y + dy);
          for (int c = 0; c < image.Channels(); ++c) out[c] += weight * in[c];
          total += weight;
        }
      }
      for (int c = 0; c < image.Channels(); ++c) out[c] /= total;
    }
  }
  return soft;
}

}  // namespace lumen
