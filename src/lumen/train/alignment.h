// Pair-wise alignment that can be differentiated: Levenberg–Marquardt on a batch of pairs side by side, each
// with its own damping and end. Unknowns of a pair: target_from_source (6: v, w, on the left), the source's
// log-scale, the source's code. Factors: FM, SMG, GC, SC, CD, with the formulas of room `factors` (a test
// holds the two together). As in AlignPair there, the pair is placed first (all levels, the code held), then
// shaped: the finest levels and the code, with RP instead of SMG and GC, since the target's depth is an
// estimate, too; the scale stays near where the placing left it. Accepted steps of both are part of the
// graph; decisions and rejected steps are not. With checkpointing a step keeps its inputs only and is
// computed again on the way back.
//
// Shapes: B pairs, N samples and M matches per pair, C feature channels, K bases, L levels.
#pragma once

#include <torch/torch.h>

#include "lumen/base/config.h"

namespace lumen {

struct AlignmentOptions {
  std::vector<double> level_weights{10, 9, 8, 7};             // finest first
  double robust = 0.03;                                       // FM: as FeatureMetricOptions::robust
  bool relative = true;                                       // FM: as FeatureMetricOptions::relative
  double matched_weight = 1, matched_sigma = 0.1;             // SMG
  double geometry_weight = 0.02, geometry_sigma = 0.03;       // GC
  double reprojection_weight = 0, reprojection_sigma = 0.03;  // RP
  double scale_prior_weight = 1e-4;
  double code_prior_weight = 10;  // see docs/decisions.md
  bool relative_code = true;      // on the share of the depth that codes add, as SLAM's mapping
  bool code_is_free = true;       // false: codes stay where they are
  int placing_iterations = 4;     // of pose and scale, over all levels
  int iterations = 5;             // of everything, over the finest levels; 0 levels are all of them
  int finest_levels = 1;
  double shaping_reprojection = 0.3, shaping_scale_prior = 1;  // weights of RP and SC while shaping
  double initial_damping = 1e-4, min_damping = 1e-6, max_damping = 1e2;
  double damping_increase = 10, damping_decrease = 10;
  double gradient_tolerance = 1e-6;
  double step_tolerance = 1e-4;  // largest entry of a step below which a pair is done
  bool checkpointing = true;

  void Describe(ConfigVisitor& visitor);
};

// Everything a pair's error depends on besides the unknowns. What carries gradients stands first.
struct AlignmentProblem {
  torch::Tensor average;                       // (B, N) of the source, at the samples
  torch::Tensor bases;                         // (B, N, K)
  std::vector<torch::Tensor> source_features;  // L × (B, N, C)
  std::vector<torch::Tensor> target_features;  // L × (B, 3C, H_l, W_l): [F | dF/dx | dF/dy]
  torch::Tensor match_average;                 // (B, M)
  torch::Tensor match_bases;                   // (B, M, K)
  torch::Tensor scale_goal;                    // (B): log-scale of SC

  torch::Tensor rays;          // (B, N, 3) at depth 1
  torch::Tensor weight;        // (B, N) 1, or 0 for samples that do not count
  torch::Tensor camera;        // (B, 5), see lens.h
  torch::Tensor target_mask;   // (B, 1, H, W)
  torch::Tensor target_depth;  // (B, 3, H, W): [D | dD/dx | dD/dy]
  torch::Tensor target_known;  // (B, 1, H, W): where that depth is known
  torch::Tensor match_rays;    // (B, M, 3)
  torch::Tensor match_points;  // (B, M, 3): the matched points in the target's frame
  torch::Tensor match_pixels;  // (B, M, 2): where they are seen
  torch::Tensor match_weight;  // (B, M)
  torch::Tensor mean_square;   // (B): mean of the source's squared average depth
};

struct AlignmentState {
  torch::Tensor rotation;     // (B, 3, 3), target_from_source
  torch::Tensor translation;  // (B, 3)
  torch::Tensor log_scale;    // (B)
  torch::Tensor code;         // (B, K)
};

struct AlignmentSystem {
  torch::Tensor H;      // (B, U, U): U is 7 + K, or 7 where the code is held
  torch::Tensor b;      // (B, U): gradient of the error
  torch::Tensor error;  // (B)
};

AlignmentSystem LinearizeAlignment(const AlignmentProblem& problem, const AlignmentState& state,
                                   const AlignmentOptions& options);
torch::Tensor ComputeAlignmentError(const AlignmentProblem& problem, const AlignmentState& state,
                                    const AlignmentOptions& options);
// By a step (B, 7 + K), or (B, 7) that leaves the code alone.
AlignmentState RetractState(const AlignmentState& state, const torch::Tensor& step);

struct AlignmentResult {
  AlignmentState state;
  std::vector<AlignmentState> steps;         // after each iteration, the last one is `state`
  torch::Tensor initial_error, final_error;  // (B)
  torch::Tensor accepted;                    // (B): number of accepted steps
};
AlignmentResult AlignPairs(const AlignmentProblem& problem, const AlignmentState& start,
                           const AlignmentOptions& options);

// The pyramid of maps (B, C, H, W) as image/pyramid.h makes it, with gradients: L × (B, 3C, H_l, W_l).
std::vector<torch::Tensor> MakeFeatureLevels(const torch::Tensor& maps, const torch::Tensor& mask,
                                             int levels);
// [f | df/dx | df/dy], one-sided where a neighbour is not content.
torch::Tensor WithGradients(const torch::Tensor& maps, const torch::Tensor& mask);
// Where level-0 pixels lie on a level.
inline torch::Tensor AtLevel(const torch::Tensor& pixels, int level) {
  return (pixels + 0.5) / static_cast<double>(1 << level) - 0.5;
}

}  // namespace lumen
