// The networks behind the interface SLAM sees, on the CPU.
#pragma once

#include <memory>

#include "lumen/base/config.h"
#include "lumen/network/engine.h"
#include "lumen/network/weights.h"
#include "lumen/scene/priors.h"

namespace lumen {

struct PriorsOptions {
  int threads = 1;  // per network
  int pyramid_levels = 4;

  void Describe(ConfigVisitor& visitor);
};

class EnginePriors : public Priors {
 public:
  // The view is of the input frames' size (the networks').
  EnginePriors(const Model& model, const LensView& view, const PriorsOptions& options = {});

  FeaturePyramid ComputeFeatures(const InputFrame& frame) override;
  Image<float> ComputeAverageDepth(const InputFrame& frame) override;
  // Reuses the trunk if this frame's average depth was the last thing asked for.
  DepthBasis ComputeDepthBasis(const InputFrame& frame) override;
  bool BothAtOnce() const override { return true; }  // two engines

 private:
  void RunDepthTrunk(const InputFrame& frame);

  PriorsOptions options_;
  Mask feature_mask_;  // at the outputs' size
  NetworkEngine feature_;
  NetworkEngine depth_;
  const InputFrame* last_frame_ = nullptr;  // compared with index and time, never followed
  int64_t last_index_ = -1;
  double last_time_ = 0;
  Image<float> last_average_;
};

}  // namespace lumen
