// The sums of the geometric-consistency factor over some samples, plainly and tuned (16 bases).
#pragma once

#include "lumen/factors/fm_kernel.h"

namespace lumen {

struct GcProblem {
  const KeyframeSamples* source = nullptr;
  const Keyframe* target = nullptr;
  const HiddenSamples* hidden = nullptr;  // left out
  double threshold = 1;                   // of the squared residual, in units of the source's scale
  bool exact_derivative = false;  // of the bilinear interpolant, instead of sampled central differences
  bool source_code_is_free = false;
  bool target_code_is_free = false;

  int LocalDimension() const {
    return kCodes + (source_code_is_free ? source->NumBases() : 0) +
           (target_code_is_free ? target->depth.NumBases() : 0);
  }
};

// The target's depth at the current state, interleaved as [D | dD/du | dD/dv | 0].
template <typename T>
struct DepthField {
  int width = 0, height = 0;
  std::vector<T> values;
};

// Central differences as image/pyramid.h takes them: one-sided where a neighbour is not content.
template <typename T>
DepthField<T> MakeDepthField(const GcProblem& problem, const PairState& state);

// Σ over samples of ½ ρ_cauchy(r²; threshold), r = (ζ(p) − D_tgt(π(p))) / s_src, and its derivatives, not yet
// divided by their number. Without `with_derivatives` H and b stay zero.
PairSystem SumGcPlain(const GcProblem& problem, const PairState& state, const DepthField<double>& field,
                      SampleRange range, bool with_derivatives);
PairSystem SumGcFast(const GcProblem& problem, const PairState& state, const DepthField<float>& field,
                     SampleRange range, bool with_derivatives);
bool GcFastServes(const GcProblem& problem);

// The residuals of all samples (zero where a sample is not seen) and, if asked for, their Jacobian: the
// witness of the plain kernel in tests.
Eigen::VectorXd StackGcResiduals(const GcProblem& problem, const PairState& state, Eigen::MatrixXd* jacobian);

}  // namespace lumen
