// What one training step computes: from a batch of pairs to named losses. Stage 1 teaches each network alone;
// stage 2 teaches both through the alignment of the pair.
#pragma once

#include "lumen/network/torch_network.h"
#include "lumen/network/weights.h"
#include "lumen/train/alignment.h"
#include "lumen/train/discriminator.h"
#include "lumen/train/pair_batch.h"

namespace lumen {

struct LossOptions {
  double depth_share = 0.85;  // see ScaleInvariantLoss
  double depth_weight = 20, span_weight = 20, response_weight = 4, map_weight = 1, histogram_weight = 4;
  double drift_weight = 20, descriptor_drift_weight = 5;  // see PoseDriftLoss
  double aligned_weight = 40, flow_weight = 20, adversarial_weight = 1, decorrelation_weight = 2.5;
  double descriptor_sigma = 30, map_sigma = 10;
  int keypoints = 256;
  int histogram_pixels = 512, histogram_bins = 100;
  double histogram_margin = 0.3;
  // Stage 2.
  int samples = 1024;
  double start_rotation = 0.2;     // radians, up to
  double start_translation = 0.2;  // of the source's median depth, up to
  double cycle_distance = 2;
  bool joint_features = false;  // the alignment teaches the feature map, too; see docs/decisions.md
  bool true_target = false;     // SMG and GC meet the target's true depth instead of its estimated one

  void Describe(ConfigVisitor& visitor);
};

struct PriorNetworks {
  TorchNetwork depth{nullptr}, feature{nullptr};

  PriorNetworks(const Model& model, const torch::Device& device);
  std::vector<torch::Tensor> Parameters() const;
  std::map<std::string, Tensor> Store() const;
};

// Losses by name, already weighted, in a fixed order.
struct LossTerms {
  std::vector<std::pair<std::string, torch::Tensor>> terms;

  void Add(const std::string& name, double weight, const torch::Tensor& loss) {
    terms.emplace_back(name, weight * loss);
  }
  torch::Tensor Total() const;
};

LossTerms ComputeSeparateLosses(PriorNetworks& networks, const PairBatch& batch, const LossOptions& options);

struct JointOutput {
  LossTerms losses;                      // of the networks; the adversary's part among them
  torch::Tensor picture, real;           // for the adversary's own step, without gradient
  std::vector<torch::Tensor> estimates;  // depth maps along the alignment
  torch::Tensor flow_error;              // (B): mean flow error after the alignment, pixels
};
JointOutput ComputeJointLosses(PriorNetworks& networks, Discriminator& discriminator, const PairBatch& batch,
                               const LossOptions& options, const AlignmentOptions& alignment);
torch::Tensor ComputeDiscriminatorLoss(Discriminator& discriminator, const JointOutput& output);

// What the feature network makes of a batch, in the turned pictures.
struct FeatureMaps {
  torch::Tensor source_map, target_map;
  torch::Tensor source_descriptor, target_descriptor, far_descriptor;
  torch::Tensor source_mask, target_mask, far_mask;  // of the turned pictures, at the maps' size
};
FeatureMaps RunFeatureNetwork(PriorNetworks& networks, const PairBatch& batch);

// The networks' maps for a pair, turned back to the unturned picture.
struct PairMaps {
  torch::Tensor average, bases;  // of the source
  torch::Tensor target_average;
  torch::Tensor source_map, target_map;  // feature maps
  torch::Tensor source_descriptor, target_descriptor;
  torch::Tensor source_mask, target_mask;  // what is content in the unturned picture after turning
};
PairMaps RunNetworks(PriorNetworks& networks, const PairBatch& batch);
PairMaps RunNetworks(PriorNetworks& networks, const FeatureMaps& features, const PairBatch& batch);

// An alignment problem from maps and truth: samples, matches and levels; and a random start that still
// overlaps by 0.4.
AlignmentProblem MakeAlignmentProblem(const PairMaps& maps, const PairBatch& batch,
                                      const LossOptions& options, int levels);
AlignmentState DrawStart(const PairMaps& maps, const PairBatch& batch, const LossOptions& options);
torch::Tensor ComposeDepth(const torch::Tensor& average, const torch::Tensor& bases,
                           const AlignmentState& state);
// Mean distance between estimated and true flow over the visible pixels, (B).
torch::Tensor ComputeFlowError(const PairBatch& batch, const torch::Tensor& depth,
                               const AlignmentState& state);

// `count` random pixels (B, count, 2) where the mask (B, 1, H, W) is not zero, and 1 where that was so (B,
// count).
std::pair<torch::Tensor, torch::Tensor> DrawPixels(const torch::Tensor& mask, int count);

// For each keypoint (B, K, 2) of the source the nearest descriptor's pixel in the target (B, K, 2), and 1
// where the way back ends within `cycle_distance`.
std::pair<torch::Tensor, torch::Tensor> MatchMaps(const PairMaps& maps, const torch::Tensor& keypoints,
                                                  double cycle_distance);

}  // namespace lumen
