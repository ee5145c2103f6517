// FM, the feature-metric factor: the source's feature map, warped into the target, should equal the
// target's, on every level of the pyramid:
//   L = Σ_l w_l 1/|Ω| Σ_{x ∈ Ω} |F_tgt,l(π(p)) − F_src,l(x)|²
// Ω are the samples that land on the target's mask. (The paper's 1/L is part of the level weights: they
// were tuned together with the other factors' weights without it.)
#pragma once

#include "lumen/base/config.h"
#include "lumen/factors/fm_kernel.h"
#include "lumen/factors/pair_variables.h"
#include "lumen/factors/unpacked_features.h"

namespace lumen {

struct FeatureMetricOptions {
  std::vector<double> level_weights{10, 9, 8, 7};  // finest first; as many levels as weights
  // Beyond this share of the features' own variance a sample's difference counts less and less (Cauchy):
  // what is hidden in the target differs by about twice the variance. 0: plain squares, as the paper.
  double robust = 0;
  // Divides by the source features' own variance, so that weights and bounds mean the same whatever size of
  // numbers a network makes.
  bool relative = false;
  bool exact_derivative = false;  // see FmProblem
  // Steps by the mean of both pictures' gradients (on the finest level) instead of the target's alone. Where
  // the two pictures differ, the squared difference is smallest not where they show the same but a little
  // towards where the target shows little: in a tube, towards its far end. So a camera ahead seems too near
  // and one behind too far, and scale drifts along the way. With both gradients the two pulls cancel.
  bool symmetric = false;
  bool plain = false;  // the double-precision kernel
  int threads = 1;

  void Describe(ConfigVisitor& visitor);
};

class FeatureMetricFactor : public Factor {
 public:
  // Where no sample is seen the squared difference counts as this, with no derivative: worse than any
  // overlap worth having, and finite.
  static constexpr double kNoOverlapSquared = 10;

  // Numbers that are not finite in the target's features break the contract. Where the target's are packed,
  // their levels come from `unpacked`, or are made for each evaluation.
  FeatureMetricFactor(const PairVariables& variables, std::shared_ptr<const KeyframeSamples> source,
                      std::shared_ptr<const Frame> target, const FeatureMetricOptions& options = {},
                      std::shared_ptr<const HiddenSamples> hidden = nullptr,
                      std::shared_ptr<UnpackedFeatures> unpacked = nullptr);

  double Error(const Values& values) const override;
  NormalBlock Linearize(const Values& values) const override;

 private:
  PairSystem Evaluate(const PairState& state, bool with_derivatives) const;

  PairVariables variables_;
  std::shared_ptr<const KeyframeSamples> source_;
  std::shared_ptr<const Frame> target_;
  std::shared_ptr<const HiddenSamples> hidden_;
  std::shared_ptr<UnpackedFeatures> unpacked_;
  std::vector<double> fixed_depths_;
  FmProblem problem_;
  bool use_fast_;
  int threads_;
};

}  // namespace lumen
