// Errors at one scale a sequence, as the SimCol3D challenge grades (docs/evaluation.md): no similarity is
// fitted. Paths begin at the true first pose and are chained from their steps; the scale is the one that fits
// the steps best. Depth has a scale of its own, which fits the maps' means best.
#pragma once

#include <vector>

#include "lumen/eval/association.h"
#include "lumen/image/image.h"

namespace lumen {

// Medians over the poses, or over the steps between neighbours.
struct ChainedErrors {
  size_t steps = 0;
  double scale = 0;
  double position = 0;                                     // "ATE"
  double step_translation = 0, step_rotation_degrees = 0;  // "RTE", "ROT"
};
// Nothing where fewer than two poses have a true one, or the estimate stands still.
std::optional<ChainedErrors> ComputeChainedErrors(const Trajectory& estimate, const Trajectory& truth,
                                                  double max_time_gap = kMaxTimeGap);

// Over the pixels where estimate and truth are both known.
struct DepthMeans {
  double estimate = 0, truth = 0;
};
std::optional<DepthMeans> MeanDepths(ImageView<const float> estimate, ImageView<const float> truth);
double FitDepthScale(const std::vector<DepthMeans>& maps);  // at least one

struct DepthErrors {
  double mean_absolute = 0;
  double median_relative = 0;
  double root_mean_square = 0;
};
std::optional<DepthErrors> ComputeDepthErrors(ImageView<const float> estimate, ImageView<const float> truth,
                                              double scale);

}  // namespace lumen
