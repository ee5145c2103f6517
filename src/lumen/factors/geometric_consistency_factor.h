// GC, the geometric-consistency factor: the source's depth, warped into the target, should equal the
// target's depth there:
//   L = w 1/|Ω| Σ_{x ∈ Ω} ρ_cauchy(|z − D_tgt(π(p))|²; δ),  δ = σ · s_src² · mean(D̄_src²)
// over all samples that land on the target's mask, as for FM. The threshold follows the source's current
// metric scale; since only the ratio of the two enters, that is written as the residual divided by s_src
// against the fixed threshold σ · mean(D̄²). So the error is exactly invariant to scaling the whole pair,
// and its gradient includes what the threshold does.
#pragma once

#include "lumen/base/config.h"
#include "lumen/factors/gc_kernel.h"
#include "lumen/factors/pair_variables.h"

namespace lumen {

struct GeometricConsistencyOptions {
  double weight = 0.1;
  double sigma = 0.03;
  bool exact_derivative = false;  // see GcProblem
  bool plain = false;             // the double-precision kernel
  int threads = 1;

  void Describe(ConfigVisitor& visitor);
};

class GeometricConsistencyFactor : public Factor {
 public:
  // Where no sample is seen the squared residual counts as this many thresholds, with no derivative.
  static constexpr double kNoOverlapRatio = 100;

  GeometricConsistencyFactor(const PairVariables& variables, std::shared_ptr<const KeyframeSamples> source,
                             std::shared_ptr<const Keyframe> target,
                             const GeometricConsistencyOptions& options = {},
                             std::shared_ptr<const HiddenSamples> hidden = nullptr);

  double Error(const Values& values) const override;
  NormalBlock Linearize(const Values& values) const override;

 private:
  PairSystem Evaluate(const PairState& state, bool with_derivatives) const;

  PairVariables variables_;
  std::shared_ptr<const KeyframeSamples> source_;
  std::shared_ptr<const Keyframe> target_;
  std::shared_ptr<const HiddenSamples> hidden_;
  GcProblem problem_;
  double weight_;
  bool use_fast_;
  int threads_;
};

}  // namespace lumen
