#include "lumen/apps/one_scale_grading.h"

#include "lumen/eval/one_scale_error.h"

namespace lumen {

namespace {

// A depth map and the truth on its grid; nothing where they cannot be compared.
struct DepthPair {
  DepthImage estimate, truth;
};
std::optional<DepthPair> LoadDepthPair(const RunDepthFile& file, const Estimate& estimate,
                                       const Truth& truth) {
  const std::optional<DepthImage> true_map =
      truth.source ? truth.source->LoadDepth(file.frame) : std::nullopt;
  if (!true_map || !estimate.depth_scale) return std::nullopt;
  DepthImage map = LoadScaledDepth(file.path, *estimate.depth_scale);
  const SamplerChoice choice = MakeTruthSampler(estimate, truth, map, *true_map);
  if (!choice.sampler) return std::nullopt;
  DepthImage expected = choice.sampler->Sample(*true_map);
  return DepthPair{std::move(map), std::move(expected)};
}

// Twice through all maps: for the scale they have in common, and for what it leaves.
void AddOneScaleDepth(const Estimate& estimate, const Truth& truth, Grades& grades) {
  std::vector<DepthMeans> means;
  for (const RunDepthFile& file : estimate.depth)
    if (const auto pair = LoadDepthPair(file, estimate, truth))
      if (const auto mean = MeanDepths(pair->estimate, pair->truth)) means.push_back(*mean);
  if (means.empty()) {
    for (const char* key : {"depth_l1", "depth_relative_percent", "depth_rmse"})
      grades.SetAbsent(key, "no depth map can be compared");
    return;
  }
  const double scale = FitDepthScale(means);
  DepthErrors sum;
  double maps = 0;
  for (const RunDepthFile& file : estimate.depth) {
    const auto pair = LoadDepthPair(file, estimate, truth);
    const auto errors = pair ? ComputeDepthErrors(pair->estimate, pair->truth, scale) : std::nullopt;
    if (!errors) continue;
    sum.mean_absolute += errors->mean_absolute;
    sum.median_relative += errors->median_relative;
    sum.root_mean_square += errors->root_mean_square;
    ++maps;
  }
  grades.Set("depth_l1", sum.mean_absolute / maps);
  grades.Set("depth_relative_percent", 100 * sum.median_relative / maps);
  grades.Set("depth_rmse", sum.root_mean_square / maps);
}

}  // namespace

void AddOneScaleGrades(const Estimate& estimate, const Truth& truth, const GradingOptions& options,
                       Grades& grades) {
  const Trajectory& poses = estimate.frames.empty() ? estimate.keyframes : estimate.frames;
  if (const auto errors = ComputeChainedErrors(poses, truth.trajectory, options.max_time_gap)) {
    grades.Set("chained_ate", errors->position);
    grades.Set("chained_rte", errors->step_translation);
    grades.Set("chained_rot_deg", errors->step_rotation_degrees);
  } else {
    for (const char* key : {"chained_ate", "chained_rte", "chained_rot_deg"})
      grades.SetAbsent(key, "fewer than two poses have a true one, or the estimate stands still");
  }
  AddOneScaleDepth(estimate, truth, grades);
}

}  // namespace lumen
