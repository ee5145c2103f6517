// The networks behind the interface SLAM sees, on the CPU.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lumen/base/config.h"
#include "lumen/network/engine.h"
#include "lumen/network/weights.h"
#include "lumen/scene/priors.h"

namespace lumen {

struct PriorsOptions {
  int threads = 1;  // per network
  int pyramid_levels = 4;
  std::string precision = "auto";  // float, half (throws InputError where there is none) or auto

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
  bool IsHalf() const { return half_; }

 private:
  // A network that falls back to single precision, for good, should a model's numbers not fit half.
  struct SafeEngine {
    std::unique_ptr<NetworkEngine> engine;
    std::function<std::unique_ptr<NetworkEngine>()> make_float;  // null: single precision already

    void RunTrunk(const RgbImage& image) { engine->RunTrunk(image); }
    Image<float> RunHead(int head, const RgbImage& image);
  };
  SafeEngine MakeEngine(const NetworkSpec& spec, const Model& model, const LensView& view) const;
  void RunDepthTrunk(const InputFrame& frame);

  PriorsOptions options_;
  Mask feature_mask_;  // at the outputs' size
  bool half_;
  SafeEngine feature_, depth_;
  const InputFrame* last_frame_ = nullptr;  // compared with index and time, never followed
  int64_t last_index_ = -1;
  double last_time_ = 0;
  Image<float> last_average_;
};

}  // namespace lumen
