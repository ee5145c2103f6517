#include "lumen/factors/geometric_consistency_factor.h"

#include <cmath>

#include "lumen/base/error.h"
#include "lumen/factors/dense_sum.h"
#include "lumen/geometry/robust_kernels.h"

namespace lumen {

void GeometricConsistencyOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("weight", weight, {.min = 0, .help = "weight of the factor"});
  visitor.Field("sigma", sigma, {.min = 1e-9, .help = "Cauchy threshold in units of the mean squared depth"});
  visitor.Field("exact_derivative", exact_derivative,
                {.help = "derivative of the bilinear interpolant instead of sampled central differences"});
  visitor.Field("plain", plain, {.help = "use the plain double-precision kernel"});
  visitor.Field("threads", threads, {.min = 1, .max = 256, .help = "threads per evaluation"});
}

GeometricConsistencyFactor::GeometricConsistencyFactor(const PairVariables& variables,
                                                       std::shared_ptr<const KeyframeSamples> source,
                                                       std::shared_ptr<const Keyframe> target,
                                                       const GeometricConsistencyOptions& options,
                                                       std::shared_ptr<const HiddenSamples> hidden)
    : Factor(variables.Keys()),
      variables_(variables),
      source_(std::move(source)),
      target_(std::move(target)),
      hidden_(std::move(hidden)),
      weight_(options.weight),
      threads_(options.threads) {
  LUMEN_CHECK(source_ != nullptr && target_ != nullptr && options.weight >= 0 && options.sigma > 0);
  CheckDepth(*target_);
  problem_.source = source_.get();
  problem_.target = target_.get();
  problem_.threshold = options.sigma * static_cast<double>(source_->keyframe->depth.mean_square);
  problem_.hidden = hidden_.get();
  problem_.exact_derivative = options.exact_derivative;
  problem_.source_code_is_free = variables_.SourceCodeIsFree();
  problem_.target_code_is_free = variables_.TargetCodeIsFree();
  use_fast_ = !options.plain && GcFastServes(problem_);
}

PairSystem GeometricConsistencyFactor::Evaluate(const PairState& state, bool with_derivatives) const {
  LUMEN_CHECK(state.source_code.size() == source_->NumBases() &&
                  state.target_code.size() == target_->depth.NumBases(),
              "a code that does not fit its bases");
  const PairSystem zero(problem_.LocalDimension());
  PairSystem sum;
  if (use_fast_) {
    const DepthField<float> field = MakeDepthField<float>(problem_, state);
    sum = SumOverSamples(source_->Size(), threads_, zero, [&](SampleRange range) {
      return SumGcFast(problem_, state, field, range, with_derivatives);
    });
  } else {
    const DepthField<double> field = MakeDepthField<double>(problem_, state);
    sum = SumOverSamples(source_->Size(), threads_, zero, [&](SampleRange range) {
      return SumGcPlain(problem_, state, field, range, with_derivatives);
    });
  }
  if (sum.count == 0) sum.error = 0.5 * Cauchy(kNoOverlapRatio, 1).rho;
  sum.Scale(weight_ / static_cast<double>(std::max<int64_t>(sum.count, 1)));
  return sum;
}

double GeometricConsistencyFactor::Error(const Values& values) const {
  return Evaluate(variables_.Resolve(values), false).error;
}

NormalBlock GeometricConsistencyFactor::Linearize(const Values& values) const {
  return variables_.Expand(Evaluate(variables_.Resolve(values), true), values);
}

}  // namespace lumen
