// Priors made from the simulator's truth instead of learned ones: what SLAM could do if its networks were
// perfect, and a way to test it without any weights.
#pragma once

#include <memory>

#include "lumen/scene/priors.h"
#include "lumen/sim/sequence.h"

namespace lumen {

struct PerfectPriorOptions {
  int levels = 4;
  double scale_spread = 0.3;  // standard deviation of the log of each frame's arbitrary depth scale
};

// Frames are known by their index in the sequence; their pictures are not looked at. Maps have half the
// sequence's size, and the sequence's camera is that of the view: a pinhole or unified. Features and
// descriptors are waves over the surface in space, so that a point of the wall has the same ones from any
// view: long waves to align by, short ones besides to match by.
class PerfectPriors : public Priors {
 public:
  static constexpr int kChannels = 16;

  explicit PerfectPriors(std::shared_ptr<const SimulatedSequence> sequence,
                         const PerfectPriorOptions& options = {});

  FeaturePyramid ComputeFeatures(const InputFrame& frame) override;
  Image<float> ComputeAverageDepth(const InputFrame& frame) override;
  DepthBasis ComputeDepthBasis(const InputFrame& frame) override;

  const Camera& FeatureView() const { return renderer_.View(); }
  const Mask& FeatureMask() const { return renderer_.ContentMask(); }
  // What the average depth must be multiplied by to give mm.
  double TrueScale(int64_t index) const;

 private:
  using Waves = Eigen::Matrix<float, kChannels / 2, 3>;
  Image<float> SurfaceWaves(const DepthImage& depth, const Rigid3& world_from_camera,
                            const Waves& waves) const;

  std::shared_ptr<const SimulatedSequence> sequence_;
  PerfectPriorOptions options_;
  Renderer renderer_;  // at feature size
  Waves feature_waves_, descriptor_waves_;
};

}  // namespace lumen
