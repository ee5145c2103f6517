// The sums of the feature-metric factor over some samples, twice: plainly in double precision, and tuned.
// The tuned kernel contracts the channels of each sample to a 2×2 matrix and a 2-vector in the image
// plane, over all levels, and only then expands to the unknowns. It serves 16 channels.
#pragma once

#include <array>
#include <span>

#include "lumen/factors/keyframe_samples.h"
#include "lumen/factors/pair_variables.h"

namespace lumen {

inline constexpr int kMaxLevels = 8;

struct FmProblem {
  const KeyframeSamples* source = nullptr;
  const Frame* target = nullptr;
  const FeaturePyramid* unpacked = nullptr;  // of a target whose own features are packed
  std::array<double, kMaxLevels> level_weights{};
  int levels = 0;
  const HiddenSamples* hidden = nullptr;  // left out
  bool exact_derivative = false;  // of the bilinear interpolant, instead of sampled central differences
  // On the finest level, the mean of the target's gradient and of the source's, carried over by the warp as
  // if the wall faced the camera. The sums are then not the derivatives of the error: see
  // feature_metric_factor.h.
  bool symmetric = false;
  bool source_code_is_free = false;
  // Squared residual (of a sample, over all levels and channels) beyond which it counts less and less:
  // Cauchy's loss. 0: plain squares.
  double robust_threshold = 0;
  // The samples' depths, where no variable moves them (tracking); otherwise empty. Only the tuned kernel
  // looks at it.
  std::span<const double> fixed_depths = {};

  const FeaturePyramid& TargetFeatures() const { return unpacked != nullptr ? *unpacked : target->features; }
};

struct SampleRange {
  int begin = 0, end = 0;
};

// Σ over samples of ½ Σ_l w_l |F_tgt,l(π(p)) − F_src,l(x)|² and its derivatives, not yet divided by their
// number. Without `with_derivatives` H and b stay zero.
PairSystem SumFmPlain(const FmProblem& problem, const PairState& state, SampleRange range,
                      bool with_derivatives);
PairSystem SumFmFast(const FmProblem& problem, const PairState& state, SampleRange range,
                     bool with_derivatives);
bool FmFastServes(const FmProblem& problem);

// The weighted residuals of all samples at once (zero where a sample is not seen): the witness of the
// plain kernel's Jacobian in tests. Jacobian rows follow the residuals if asked for.
Eigen::VectorXd StackFmResiduals(const FmProblem& problem, const PairState& state, Eigen::MatrixXd* jacobian);

}  // namespace lumen
