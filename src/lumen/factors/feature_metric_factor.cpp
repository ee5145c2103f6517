#include "lumen/factors/feature_metric_factor.h"

#include "lumen/base/error.h"
#include "lumen/factors/dense_sum.h"
#include "lumen/factors/warp.h"

namespace lumen {

void FeatureMetricOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("level_weights", level_weights, {.min = 0, .help = "weight of each level, finest first"});
  visitor.Field("robust", robust,
                {.min = 0,
                 .max = 100,
                 .help = "share of the features' variance beyond which a difference counts less; 0: never"});
  visitor.Field("relative", relative, {.help = "measure differences in the features' own variance"});
  visitor.Field("exact_derivative", exact_derivative,
                {.help = "derivative of the bilinear interpolant instead of sampled central differences"});
  visitor.Field("symmetric", symmetric,
                {.help = "step by both pictures' gradients, so that what differs does not pull"});
  visitor.Field("plain", plain, {.help = "use the plain double-precision kernel"});
  visitor.Field("threads", threads, {.min = 1, .max = 256, .help = "threads per evaluation"});
}

FeatureMetricFactor::FeatureMetricFactor(const PairVariables& variables,
                                         std::shared_ptr<const KeyframeSamples> source,
                                         std::shared_ptr<const Frame> target,
                                         const FeatureMetricOptions& options,
                                         std::shared_ptr<const HiddenSamples> hidden,
                                         std::shared_ptr<UnpackedFeatures> unpacked)
    : Factor(variables.WithoutTargetDepth().Keys()),
      variables_(variables.WithoutTargetDepth()),
      source_(std::move(source)),
      target_(std::move(target)),
      hidden_(std::move(hidden)),
      unpacked_(std::move(unpacked)),
      threads_(options.threads) {
  LUMEN_CHECK(source_ != nullptr && target_ != nullptr);
  CheckFeatures(*target_);
  problem_.levels = static_cast<int>(options.level_weights.size());
  LUMEN_CHECK(problem_.levels >= 1 && problem_.levels <= kMaxLevels &&
                  problem_.levels <= source_->NumLevels() && problem_.levels <= target_->features.NumLevels(),
              "more level weights than levels");
  LUMEN_CHECK(source_->FeatureChannels() == target_->features.levels[0].FeatureChannels());
  std::copy(options.level_weights.begin(), options.level_weights.end(), problem_.level_weights.begin());
  if (options.relative && source_->feature_variance > 0) {
    for (double& weight : problem_.level_weights) weight /= source_->feature_variance;
  }
  double weights = 0;
  for (const double weight : problem_.level_weights) weights += weight;
  problem_.robust_threshold = options.robust * weights * source_->feature_variance;
  problem_.source = source_.get();
  problem_.target = target_.get();
  problem_.hidden = hidden_.get();
  problem_.exact_derivative = options.exact_derivative;
  problem_.symmetric = options.symmetric;
  problem_.source_code_is_free = variables_.SourceCodeIsFree();
  use_fast_ = !options.plain && FmFastServes(problem_);
  if (variables_.SourceDepthIsFixed()) {
    const DepthVariables& depth = variables_.SourceDepth();
    LUMEN_CHECK(depth.code.size() == source_->NumBases(), "a code that does not fit its bases");
    for (int i = 0; i < source_->Size(); ++i) {
      fixed_depths_.push_back(
          DepthOf(source_->AverageDepth(i), source_->Bases(i), std::exp(depth.log_scale), depth.code));
    }
    problem_.fixed_depths = fixed_depths_;
  }
}

PairSystem FeatureMetricFactor::Evaluate(const PairState& state, bool with_derivatives) const {
  LUMEN_CHECK(state.source_code.size() == source_->NumBases(), state.source_code.size(), " codes for ",
              source_->NumBases(), " bases");
  FmProblem problem = problem_;
  std::shared_ptr<const FeaturePyramid> unpacked;
  if (target_->features.IsPacked()) {
    unpacked = unpacked_ != nullptr ? unpacked_->Of(target_, problem.levels)
                                    : std::make_shared<const FeaturePyramid>(UnpackFeatures(
                                          target_->features, target_->view->mask, problem.levels));
    problem.unpacked = unpacked.get();
  }
  PairSystem sum = SumOverSamples(source_->Size(), threads_, PairSystem(variables_.LocalDimension(state)),
                                  [&](SampleRange range) {
                                    return use_fast_ ? SumFmFast(problem, state, range, with_derivatives)
                                                     : SumFmPlain(problem, state, range, with_derivatives);
                                  });
  if (sum.count > 0) {
    sum.Scale(1.0 / static_cast<double>(sum.count));
  } else {
    for (int level = 0; level < problem_.levels; ++level) {
      sum.error += 0.5 * problem_.level_weights[static_cast<size_t>(level)] * kNoOverlapSquared;
    }
  }
  return sum;
}

double FeatureMetricFactor::Error(const Values& values) const {
  return Evaluate(variables_.Resolve(values), false).error;
}

NormalBlock FeatureMetricFactor::Linearize(const Values& values) const {
  return variables_.Expand(Evaluate(variables_.Resolve(values), true), values);
}

}  // namespace lumen
