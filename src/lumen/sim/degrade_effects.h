// The picture effects behind Degrader, on linear light.
#pragma once

#include "lumen/base/random.h"
#include "lumen/sim/degrade.h"

namespace lumen {

struct EffectContext {
  ImageView<const uint8_t> mask;
  const NoiseVolume& noise;
  Random random;  // of the sequence: effects split it, by name and by frame where they flicker
  int frame = 0;
};

Image<float> ToLinear(const RgbImage& image);
RgbImage FromLinear(const Image<float>& light, ImageView<const uint8_t> mask);

// Effects of the sequence (dropped frames, …) leave the light as it is.
void ApplyEffect(const Degradation& degradation, const EffectContext& context, Image<float>& light);

}  // namespace lumen
