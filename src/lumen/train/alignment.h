// Pair-wise alignment that can be differentiated: Levenberg–Marquardt on a batch of pairs side by side, each
// with its own damping and end. Unknowns of a pair: target_from_source (6: v, w, on the left), the source's
// log-scale, the source's code. Factors: FM on all levels, SMG, GC, SC, CD, with the formulas of room
// `factors` (a test holds the two together). Accepted steps are part of the graph; decisions and rejected
// steps are not. With checkpointing a step keeps its inputs only and is computed again on the way back.
//
// Shapes: B pairs, N samples and M matches per pair, C feature channels, K bases, L levels.
#pragma once

#include <torch/torch.h>

#include "lumen/base/config.h"

namespace lumen {

struct AlignmentOptions {
  std::vector<double> level_weights{10, 9, 8, 7};       // finest first
  double matched_weight = 0.1, matched_sigma = 0.1;     // SMG
  double geometry_weight = 0.1, geometry_sigma = 0.03;  // GC
  double scale_prior_weight = 1e-4;
  double code_prior_weight = 1;  // as in SLAM; see docs/decisions.md
  int iterations = 8;
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

  torch::Tensor rays;          // (B, N, 3) at depth 1
  torch::Tensor weight;        // (B, N) 1, or 0 for samples that do not count
  torch::Tensor camera;        // (B, 4)
  torch::Tensor target_mask;   // (B, 1, H, W)
  torch::Tensor target_depth;  // (B, 3, H, W): [D | dD/dx | dD/dy]
  torch::Tensor target_known;  // (B, 1, H, W): where that depth is known
  torch::Tensor match_rays;    // (B, M, 3)
  torch::Tensor match_points;  // (B, M, 3): the matched points in the target's frame
  torch::Tensor match_weight;  // (B, M)
  torch::Tensor mean_square;   // (B): mean of the source's squared average depth
  torch::Tensor scale_goal;    // (B): log-scale of SC
};

struct AlignmentState {
  torch::Tensor rotation;     // (B, 3, 3), target_from_source
  torch::Tensor translation;  // (B, 3)
  torch::Tensor log_scale;    // (B)
  torch::Tensor code;         // (B, K)
};

struct AlignmentSystem {
  torch::Tensor H;      // (B, 7 + K, 7 + K)
  torch::Tensor b;      // (B, 7 + K): gradient of the error
  torch::Tensor error;  // (B)
};

AlignmentSystem LinearizeAlignment(const AlignmentProblem& problem, const AlignmentState& state,
                                   const AlignmentOptions& options);
torch::Tensor ComputeAlignmentError(const AlignmentProblem& problem, const AlignmentState& state,
                                    const AlignmentOptions& options);
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
