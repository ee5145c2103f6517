// The interface SLAM sees of everything learned: image → features, average depth, bases. Behind it
// stand the engine, a Torch backend, or the simulator's perfect prior.
#pragma once

#include "lumen/scene/frame.h"

namespace lumen {

class Priors {
 public:
  virtual ~Priors() = default;

  virtual FeaturePyramid ComputeFeatures(const InputFrame& frame) = 0;
  // At feature resolution, correct up to scale: cheap enough for every frame.
  virtual Image<float> ComputeAverageDepth(const InputFrame& frame) = 0;
  // Average depth and bases: for keyframes only.
  virtual DepthBasis ComputeDepthBasis(const InputFrame& frame) = 0;
  // Whether features and average depth may be asked for at the same time, by two threads.
  virtual bool BothAtOnce() const { return false; }
};

}  // namespace lumen
