// The source side of the dense factors: the pixels of a keyframe that are warped into others, with what
// does not depend on any state. Made once per keyframe and shared by all its factors.
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "lumen/scene/frame.h"

namespace lumen {

struct KeyframeSamples {
  std::shared_ptr<const Keyframe> keyframe;
  std::vector<int> pixels;             // y · width + x at level 0
  std::vector<double> ray_x, ray_y;    // of the ray at depth 1
  std::vector<double> ray_z;           // the same; empty: 1 everywhere, as a pinhole has it
  std::vector<float> coarse_features;  // of levels 1 …: [sample][level - 1][channel]
  int levels = 0;                      // of the features that are kept ready
  double feature_variance = 0;         // of the finest level over the samples, summed over channels

  int Size() const { return static_cast<int>(pixels.size()); }
  // Of the average depth, root mean square: the keyframe's own unit of length.
  double MeanDepth() const { return std::sqrt(static_cast<double>(keyframe->depth.mean_square)); }
  int NumLevels() const { return levels; }
  int FeatureChannels() const { return keyframe->frame->features.levels[0].FeatureChannels(); }
  int NumBases() const { return keyframe->depth.NumBases(); }
  const float* Features(int sample, int level) const {
    if (level == 0) {
      const Image<float>& finest = keyframe->frame->features.levels[0].values;
      return finest.Data() + static_cast<size_t>(pixels[static_cast<size_t>(sample)]) *
                                 static_cast<size_t>(finest.Channels());
    }
    return coarse_features.data() + (static_cast<size_t>(sample) * static_cast<size_t>(NumLevels() - 1) +
                                     static_cast<size_t>(level - 1)) *
                                        static_cast<size_t>(FeatureChannels());
  }
  const float* Bases(int sample) const {
    return keyframe->depth.bases.Data() +
           static_cast<size_t>(pixels[static_cast<size_t>(sample)]) * static_cast<size_t>(NumBases());
  }
  Eigen::Vector3d Ray(int sample) const {
    const auto i = static_cast<size_t>(sample);
    return {ray_x[i], ray_y[i], ray_z.empty() ? 1.0 : ray_z[i]};
  }
  float AverageDepth(int sample) const {
    return keyframe->depth.average.Data()[pixels[static_cast<size_t>(sample)]];
  }
};

// Samples of a keyframe that something stands before in another one; empty: none is.
using HiddenSamples = std::vector<bool>;
inline bool IsHidden(const HiddenSamples* hidden, int sample) {
  return hidden != nullptr && !hidden->empty() && (*hidden)[static_cast<size_t>(sample)];
}

// At the given pixels, or at all pixels of the eroded mask. Numbers that are not finite in features or
// depth, and levels that do not fit, break the contract.
std::shared_ptr<const KeyframeSamples> MakeKeyframeSamples(const std::shared_ptr<const Keyframe>& keyframe);
// `most_levels` of the pyramid are kept ready, since coarse levels cost memory.
std::shared_ptr<const KeyframeSamples> MakeKeyframeSamples(const std::shared_ptr<const Keyframe>& keyframe,
                                                           const std::vector<Eigen::Vector2i>& pixels,
                                                           int most_levels = 1 << 10);

// Contract checks shared with the target side.
void CheckFeatures(const Frame& frame);
void CheckDepth(const Keyframe& keyframe);

}  // namespace lumen
