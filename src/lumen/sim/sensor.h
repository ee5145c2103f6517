// From light to picture: exposure, noise, gamma, compression.
#pragma once

#include <optional>

#include "lumen/image/image.h"
#include "lumen/sim/appearance.h"

namespace lumen {

// Auto-exposure as it stands before a frame; a frame is a pure function of it.
struct ExposureState {
  float log_gain = 0;
  bool settled = false;  // false before the first frame, which is exposed at once as it should be
};

// The gain that would bring the picture's mean brightness to the target.
float ComputeWantedGain(ImageView<const float> radiance, ImageView<const uint8_t> mask, float target);
ExposureState UpdateExposure(const ExposureState& state, float wanted_gain, float seconds, float lag);

class Sensor {
 public:
  Sensor(const SensorOptions& options, const Mask& mask, uint64_t seed);

  // `radiance` (linear RGB) as the picture of frame number `frame`.
  RgbImage Develop(ImageView<const float> radiance, float gain, uint64_t frame) const;
  const SensorOptions& Options() const { return options_; }

 private:
  SensorOptions options_;
  Mask mask_;
  uint64_t seed_;
  Image<float> falloff_;             // vignette
  std::vector<uint8_t> tone_curve_;  // gamma, over linear brightness in [0, 1]
};

// Averages each pixel along its motion during the exposure (two channels, in pixels).
Image<float> BlurAlongMotion(ImageView<const float> radiance, ImageView<const float> motion,
                             ImageView<const uint8_t> mask);
// A 3×3 smoothing in which the neighbours together weigh `share`; only content pixels take part.
Image<float> SoftenImage(ImageView<const float> image, ImageView<const uint8_t> mask, float share);
// What JPEG at this quality (1–100) loses.
void ApplyJpegLoss(RgbImage& image, int quality);

}  // namespace lumen
