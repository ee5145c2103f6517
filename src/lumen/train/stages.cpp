#include "lumen/train/stages.h"

#include "lumen/base/error.h"
#include "lumen/train/feature_losses.h"
#include "lumen/train/losses.h"

namespace lumen {

namespace {

// The truth as the turned picture shows it, and what each pixel of it counts.
std::pair<torch::Tensor, torch::Tensor> TurnedTruth(const torch::Tensor& depth, const torch::Tensor& weight,
                                                    const ViewBatch& view) {
  const std::vector<torch::Tensor> turned =
      TurnImages(torch::cat({depth, weight}, 1), view.angle, true).chunk(2, 1);
  return {turned[0], turned[0].gt(0) * turned[1] * HalveMask(view.mask)};
}

}  // namespace

void LossOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("depth_share", depth_share,
                {.min = -1,
                 .max = 1,
                 .help = "share of the mean log ratio that is forgiven; -1 is the paper's formula"});
  visitor.Field("depth_weight", depth_weight, {.min = 0, .help = "scale-invariant depth"});
  visitor.Field("aligned_weight", aligned_weight,
                {.min = 0, .help = "scale-invariant depth after the alignment"});
  visitor.Field("span_weight", span_weight, {.min = 0, .help = "depth error that the bases cannot express"});
  visitor.Field("response_weight", response_weight, {.min = 0, .help = "relative response of descriptors"});
  visitor.Field("map_weight", map_weight,
                {.min = 0, .help = "relative response of the feature map on every level"});
  visitor.Field("drift_weight", drift_weight,
                {.min = 0, .help = "step that an alignment by features takes away from the true pose"});
  visitor.Field("descriptor_drift_weight", descriptor_drift_weight,
                {.min = 0, .help = "the same, by descriptors"});
  visitor.Field("histogram_weight", histogram_weight, {.min = 0, .help = "triplet of descriptor histograms"});
  visitor.Field("flow_weight", flow_weight, {.min = 0, .help = "flow after the alignment"});
  visitor.Field("adversarial_weight", adversarial_weight,
                {.min = 0, .help = "depth maps along the alignment against the adversary"});
  visitor.Field("decorrelation_weight", decorrelation_weight,
                {.min = 0, .help = "correlation between bases"});
  visitor.Field("descriptor_sigma", descriptor_sigma,
                {.min = 0, .help = "sharpness of the descriptors' response"});
  visitor.Field("map_sigma", map_sigma, {.min = 0, .help = "sharpness of the feature map's response"});
  visitor.Field("keypoints", keypoints, {.min = 1, .max = 4096, .help = "keypoints per pair"});
  visitor.Field("histogram_pixels", histogram_pixels,
                {.min = 1, .max = 5120, .help = "pixels per histogram"});
  visitor.Field("histogram_bins", histogram_bins, {.min = 2, .max = 1000, .help = "bins of a histogram"});
  visitor.Field("histogram_margin", histogram_margin, {.min = 0, .help = "margin of the triplet"});
  visitor.Field("samples", samples, {.min = 32, .max = 5120, .help = "pixels per alignment"});
  visitor.Field("start_rotation", start_rotation,
                {.min = 0, .max = 3, .unit = "rad", .help = "random start, up to"});
  visitor.Field("start_translation", start_translation,
                {.min = 0, .max = 3, .unit = "median depth", .help = "random start, up to"});
  visitor.Field("cycle_distance", cycle_distance,
                {.min = 0, .max = 100, .unit = "px", .help = "of matches for the alignment"});
  visitor.Field("joint_features", joint_features,
                {.help = "stage 2 teaches the feature map through the alignment, too"});
  visitor.Field("true_target", true_target, {.help = "align to the target's true depth, not its estimate"});
}

PriorNetworks::PriorNetworks(const Model& model, const torch::Device& device)
    : depth(TorchNetwork(model.depth)), feature(TorchNetwork(model.feature)) {
  depth->Load(model.tensors);
  feature->Load(model.tensors);
  depth->to(device);
  feature->to(device);
}

std::vector<torch::Tensor> PriorNetworks::Parameters() const {
  std::vector<torch::Tensor> all = depth->parameters();
  const std::vector<torch::Tensor> second = feature->parameters();
  all.insert(all.end(), second.begin(), second.end());
  return all;
}

std::map<std::string, Tensor> PriorNetworks::Store() const {
  std::map<std::string, Tensor> tensors = depth->Store();
  tensors.merge(feature->Store());
  return tensors;
}

torch::Tensor LossTerms::Total() const {
  torch::Tensor sum;
  for (const auto& [name, term] : terms) sum = sum.defined() ? sum + term : term;
  return sum;
}

namespace {

PairMaps TurnBack(const std::vector<torch::Tensor>& depth, const FeatureMaps& feature,
                  const PairBatch& batch) {
  const torch::Tensor back = -torch::cat({batch.source.angle, batch.target.angle});
  const auto half = [&](const torch::Tensor& maps) { return TurnImages(maps, back, false).chunk(2); };
  const auto average = half(depth[0]);
  const auto bases = half(depth[1]);
  const auto map = half(torch::cat({feature.source_map, feature.target_map}));
  const auto descriptor = half(torch::cat({feature.source_descriptor, feature.target_descriptor}));
  const auto content = half(torch::cat({feature.source_mask, feature.target_mask}).gt(0.5).to(torch::kFloat));
  const auto whole = [](const torch::Tensor& mask) { return mask.gt(0.99).to(torch::kFloat); };
  return {average[0],
          bases[0],
          average[1],
          map[0],
          map[1],
          descriptor[0],
          descriptor[1],
          whole(content[0]) * batch.source_mask,
          whole(content[1]) * batch.target_mask};
}

std::vector<torch::Tensor> RunDepthNetwork(PriorNetworks& networks, const PairBatch& batch) {
  // A model of before lenses were told takes the picture alone.
  const bool told = networks.depth->Spec().input_channels > 3;
  const auto input = [&](const ViewBatch& view) { return told ? view.WithAngles() : view.image; };
  return networks.depth->forward(torch::cat({input(batch.source), input(batch.target)}),
                                 torch::cat({batch.source.mask, batch.target.mask}));
}

}  // namespace

LossTerms ComputeSeparateLosses(PriorNetworks& networks, const PairBatch& batch, const LossOptions& options) {
  LossTerms losses;
  const auto [source_truth, source_valid] =
      TurnedTruth(batch.source_depth, batch.source_weight, batch.source);
  const auto [target_truth, target_valid] = TurnedTruth(
      batch.target_depth / batch.target_scale.view({-1, 1, 1, 1}), batch.target_weight, batch.target);
  const torch::Tensor truth = torch::cat({source_truth, target_truth});
  const torch::Tensor valid = torch::cat({source_valid, target_valid});
  const std::vector<torch::Tensor> depth = RunDepthNetwork(networks, batch);
  losses.Add("depth", options.depth_weight, ScaleInvariantLoss(depth[0], truth, valid, options.depth_share));
  losses.Add("span", options.span_weight, BasisSpanLoss(depth[0], depth[1], truth, valid));
  AddFeatureLosses(RunFeatureNetwork(networks, batch), batch, options, losses);
  return losses;
}

FeatureMaps RunFeatureNetwork(PriorNetworks& networks, const PairBatch& batch) {
  const torch::Tensor image = torch::cat({batch.source.image, batch.target.image, batch.far_view.image});
  const torch::Tensor mask = torch::cat({batch.source.mask, batch.target.mask, batch.far_view.mask});
  const std::vector<torch::Tensor> maps = networks.feature->forward(image, mask);
  const std::vector<torch::Tensor> map = maps[0].chunk(3);
  const std::vector<torch::Tensor> descriptor = maps[1].chunk(3);
  const std::vector<torch::Tensor> half = HalveMask(mask).chunk(3);
  return {map[0], map[1], descriptor[0], descriptor[1], descriptor[2], half[0], half[1], half[2]};
}

PairMaps RunNetworks(PriorNetworks& networks, const PairBatch& batch) {
  return RunNetworks(networks, RunFeatureNetwork(networks, batch), batch);
}

PairMaps RunNetworks(PriorNetworks& networks, const FeatureMaps& features, const PairBatch& batch) {
  return TurnBack(RunDepthNetwork(networks, batch), features, batch);
}

std::pair<torch::Tensor, torch::Tensor> MatchMaps(const PairMaps& maps, const torch::Tensor& keypoints,
                                                  double cycle_distance) {
  torch::NoGradGuard no_grad;
  const auto width = maps.source_mask.size(3);
  // The nearest valid pixel of `map` for descriptors (B, K, C).
  const auto nearest = [&](const torch::Tensor& queries, const torch::Tensor& map,
                           const torch::Tensor& mask) {
    const torch::Tensor flat = map.flatten(2);
    const torch::Tensor affinity = 2 * torch::bmm(queries, flat) - flat.square().sum(1, true);
    return affinity.masked_fill(mask.flatten(2).lt(0.5), -1e9).argmax(2);
  };
  const auto pixels = [&](const torch::Tensor& index) {
    const torch::Tensor y = torch::floor_divide(index, width);
    return torch::stack({index - y * width, y}, 2).to(torch::kFloat);
  };
  const torch::Tensor there = pixels(
      nearest(SampleMaps(maps.source_descriptor, keypoints), maps.target_descriptor, maps.target_mask));
  const torch::Tensor back =
      pixels(nearest(SampleMaps(maps.target_descriptor, there), maps.source_descriptor, maps.source_mask));
  const torch::Tensor kept = (back - keypoints).norm(2, 2).le(cycle_distance).to(torch::kFloat);
  return {there, kept};
}

}  // namespace lumen
