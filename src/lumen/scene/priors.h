// The interface SLAM sees of everything learned: image → features, average depth, bases. Behind it
// stand the engine, a Torch backend, or the simulator's perfect prior.
#pragma once

#include "lumen/scene/frame.h"

namespace lumen {

class Priors {
 public:
  virtual ~Priors() = default;

  virtual FeaturePyramid ComputeFeatures(const InputFrame& frame) = 0;
  // At feature resolution, correct up to scale.
  virtual Image<float> ComputeAverageDepth(const InputFrame& frame) = 0;
  // Average depth and bases: for keyframes only.
  virtual DepthBasis ComputeDepthBasis(const InputFrame& frame) = 0;
  // What every frame needs, and what comes with it for nothing: an average depth where the device computes
  // it all in one go, otherwise none, and whoever needs it asks.
  struct LiveMaps {
    FeaturePyramid features;
    Image<float> average_depth;
  };
  virtual LiveMaps ComputeLive(const InputFrame& frame) { return {ComputeFeatures(frame), {}}; }
};

}  // namespace lumen
