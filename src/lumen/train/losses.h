// The training losses, each a plain function of batched tensors. Shapes: B pairs, C channels, H×W pixels of
// the output maps, P = H·W, K keypoints. All return one number, the mean over the batch.
#pragma once

#include <torch/torch.h>

namespace lumen {

// Depth up to scale: with r = log D − log D̃ over the valid pixels, mean(r²) − share · mean(r)².
// share = 1 does not see the scale at all; the paper's formula is share = −1 (docs/decisions.md).
// predicted, truth, valid: (B, 1, H, W); `valid` may weigh pixels, here and in BasisSpanLoss.
torch::Tensor ScaleInvariantLoss(const torch::Tensor& predicted, const torch::Tensor& truth,
                                 const torch::Tensor& valid, double share);

// Relative response: −log of the probability that a keypoint's descriptor finds its true place among all
// valid pixels of the target, P(x) ∝ exp(−σ |f(k) − f(x)|²). Places lie between pixels; the probability
// there is the bilinear mean of its four neighbours'.
struct ResponseProblem {
  torch::Tensor source;        // (B, K, C) descriptors of the keypoints
  torch::Tensor target;        // (B, C, H, W)
  torch::Tensor target_valid;  // (B, 1, H, W)
  torch::Tensor places;        // (B, K, 2) true pixels in the target
  torch::Tensor weight;        // (B, K) 1, or 0 for keypoints that do not count
};
torch::Tensor RelativeResponseLoss(const ResponseProblem& problem, double sigma);

// How far from the truth one step of an alignment by features would lead, in pixels: the Gauss–Newton step of
// the pose at the true places, small (a few pixels) lengths kept, larger ones bounded. Single places may err
// either way; together they must not, or every path comes out too short (light and shade move with the
// camera, and what follows them lags behind the wall).
struct DriftProblem {
  torch::Tensor source;      // (B, K, C) features of the keypoints
  torch::Tensor target;      // (B, K, 3C) at their true places: [F | dF/dx | dF/dy]
  torch::Tensor place_pose;  // (B, K, 2, 6): how the places move with the pose
  torch::Tensor weight;      // (B, K)
};
// Keypoints stand in any order: each of the `groups` takes an equal run of them and a step of its own.
torch::Tensor PoseDriftLoss(const DriftProblem& problem, int groups);

// The soft cumulative histogram of each channel over [−1, 1] (supplement): values (B, C, N), weight (B, N)
// → (B, C, bins).
torch::Tensor SoftCdf(const torch::Tensor& values, const torch::Tensor& weight, int bins);
// mean_c max(d(source, target) − d(source, far) + margin, 0), d = mean over bins of the squared difference;
// weight: (B).
torch::Tensor TripletHistogramLoss(const torch::Tensor& source_cdf, const torch::Tensor& target_cdf,
                                   const torch::Tensor& far_cdf, const torch::Tensor& weight, double margin);

// Squared difference of two flows (B, 2, H, W) over the valid pixels, relative to their mean square (which
// carries no gradient). Lengths in pixels.
torch::Tensor FlowLoss(const torch::Tensor& predicted, const torch::Tensor& truth,
                       const torch::Tensor& valid);

// Mean square of the correlation between different bases (B, N, H, W) over the valid pixels.
torch::Tensor DecorrelationLoss(const torch::Tensor& bases, const torch::Tensor& valid);

// What is left of the relative depth error after the best scale and code in closed form (a ridge
// regression): teaches the bases to span the errors of the average depth, which gets no gradient.
torch::Tensor BasisSpanLoss(const torch::Tensor& average, const torch::Tensor& bases,
                            const torch::Tensor& truth, const torch::Tensor& valid);

// Least-squares GAN with the labels +1 (real) and −1 (estimated).
torch::Tensor DiscriminatorLoss(const torch::Tensor& on_real, const torch::Tensor& on_fake);
torch::Tensor GeneratorLoss(const torch::Tensor& on_fake);

// Bilinear samples of maps (B, C, H, W) at pixels (B, K, 2), those beyond the border at the border → (B, K,
// C).
torch::Tensor SampleMaps(const torch::Tensor& maps, const torch::Tensor& pixels);

}  // namespace lumen
