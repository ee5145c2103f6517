// Stage 2: from a batch through the alignment of its pairs to the losses of both networks.
#include "lumen/base/error.h"
#include "lumen/train/feature_losses.h"
#include "lumen/train/losses.h"
#include "lumen/train/stages.h"

namespace lumen {

namespace {

constexpr int kErosion = 3;                // pixels taken off the content before samples are drawn
constexpr double kLeastFinalDepth = 0.02;  // of the source's median; a solve may go astray

torch::Tensor Erode(const torch::Tensor& mask, int pixels) {
  const torch::Tensor outside = torch::nn::functional::pad(
      1 - mask, torch::nn::functional::PadFuncOptions({pixels, pixels, pixels, pixels}).value(1));
  return 1 - torch::max_pool2d(outside, 2 * pixels + 1, 1);
}

// The target's average depth at its true size, as a keyframe that was placed before would have it.
torch::Tensor EstimatedTarget(const PairMaps& maps, const PairBatch& batch) {
  const torch::Tensor known =
      (batch.target_depth.gt(0) * maps.target_average.gt(0)).to(torch::kFloat) * maps.target_mask;
  const torch::Tensor ratio =
      torch::log(batch.target_depth.clamp_min(1e-4)) - torch::log(maps.target_average.clamp_min(1e-4));
  const torch::Tensor mean = (ratio * known).flatten(1).sum(1) / known.flatten(1).sum(1).clamp_min(1);
  return maps.target_average * torch::exp(mean).view({-1, 1, 1, 1}) * maps.target_mask;
}

}  // namespace

AlignmentProblem MakeAlignmentProblem(const PairMaps& maps, const PairBatch& batch,
                                      const LossOptions& options, int levels) {
  const auto width = maps.average.size(3);
  const auto height = maps.average.size(2);
  AlignmentProblem problem;
  const torch::Tensor inner = Erode(maps.source_mask, kErosion);
  const auto [pixels, weight] = DrawPixels(inner, options.samples);
  problem.weight = weight;
  problem.camera = batch.camera;
  problem.average = SampleMaps(maps.average, pixels).squeeze(2);
  problem.bases = SampleMaps(maps.bases, pixels);
  const auto source = MakeFeatureLevels(maps.source_map, maps.source_mask, levels);
  problem.target_features = MakeFeatureLevels(maps.target_map, maps.target_mask, levels);
  const auto channels = maps.source_map.size(1);
  for (int level = 0; level < levels; ++level) {
    problem.source_features.push_back(
        SampleMaps(source[static_cast<size_t>(level)].slice(1, 0, channels), AtLevel(pixels, level)));
  }
  const torch::Tensor rays =
      MakeRays(batch.camera, width, height).transpose(1, 2).view({-1, 3, height, width});
  problem.rays = SampleMaps(rays, pixels);
  problem.target_mask = maps.target_mask;
  {
    torch::NoGradGuard no_grad;
    const torch::Tensor target_depth =
        options.true_target ? batch.target_depth : EstimatedTarget(maps, batch);
    problem.target_known = target_depth.gt(0).to(torch::kFloat) * maps.target_mask;
    problem.target_depth = WithGradients(target_depth, problem.target_known);
    const auto [keypoints, usable] = DrawPixels(inner, options.keypoints);
    const auto [places, kept] = MatchMaps(maps, keypoints, options.cycle_distance);
    const torch::Tensor depth = SampleMaps(target_depth, places);
    problem.match_weight = usable * kept * depth.squeeze(2).gt(0).to(torch::kFloat);
    problem.match_points = depth * SampleMaps(rays, places);
    problem.match_pixels = places;
    problem.match_rays = SampleMaps(rays, keypoints);
    const torch::Tensor square = (maps.average.square() * maps.source_mask).flatten(1).sum(1);
    problem.mean_square = square / maps.source_mask.flatten(1).sum(1).clamp_min(1);
    problem.match_average = keypoints;  // replaced below, with its gradient
  }
  const torch::Tensor keypoints = problem.match_average;
  problem.match_average = SampleMaps(maps.average, keypoints).squeeze(2);
  problem.match_bases = SampleMaps(maps.bases, keypoints);
  return problem;
}

torch::Tensor ComposeDepth(const torch::Tensor& average, const torch::Tensor& bases,
                           const AlignmentState& state) {
  const torch::Tensor code = state.code.unsqueeze(2).unsqueeze(3);
  return torch::exp(state.log_scale).view({-1, 1, 1, 1}) * (average + (bases * code).sum(1, true));
}

namespace {

// The estimated flow as pixels in the target, (B, H·W, 2), and where depth is positive.
std::pair<torch::Tensor, torch::Tensor> WarpByEstimate(const torch::Tensor& camera,
                                                       const torch::Tensor& depth,
                                                       const AlignmentState& state) {
  const torch::Tensor rays = MakeRays(camera, depth.size(3), depth.size(2));
  const torch::Tensor points =
      torch::matmul(rays * depth.flatten(1).unsqueeze(2), state.rotation.transpose(1, 2)) +
      state.translation.unsqueeze(1);
  const torch::Tensor positive =
      (depth.flatten(1).gt(1e-3) * FrontOfPoints(camera, points).gt(1e-3)).to(depth.dtype());
  return {ProjectPoints(camera, points), positive};
}

torch::Tensor FlowLossOf(const PairBatch& batch, const TrueWarp& truth, const torch::Tensor& mask,
                         const torch::Tensor& depth, const AlignmentState& state) {
  const auto [pixels, positive] = WarpByEstimate(batch.camera, depth, state);
  const auto width = static_cast<double>(depth.size(3));
  const auto height = static_cast<double>(depth.size(2));
  // A pair that went astray pulls no harder than one that is a picture's width off.
  const torch::Tensor bounded =
      torch::stack(
          {pixels.select(2, 0).clamp(-width, 2 * width), pixels.select(2, 1).clamp(-height, 2 * height)}, 1)
          .view({batch.Size(), 2, depth.size(2), depth.size(3)});
  const torch::Tensor unit =
      torch::tensor({1.0F, 1.0F, 0.0F, 0.0F, 0.0F}).to(batch.camera).expand_as(batch.camera);
  const torch::Tensor grid =
      MakeRays(unit, depth.size(3), depth.size(2)).slice(2, 0, 2).transpose(1, 2).reshape_as(bounded);
  const torch::Tensor seen = truth.visible * mask * positive.view_as(truth.visible);
  return FlowLoss(bounded - grid, truth.pixels.permute({0, 3, 1, 2}) - grid, seen);
}

torch::Tensor StartOverlap(const PairBatch& batch, const PairMaps& maps, const AlignmentState& state) {
  const auto [pixels, positive] = WarpByEstimate(batch.camera, batch.source_depth, state);
  const torch::Tensor content = (maps.source_mask * batch.source_depth.gt(0).to(torch::kFloat)).flatten(1);
  const torch::Tensor seen = OnContent(maps.target_mask, pixels) * positive * content;
  return seen.sum(1) / content.sum(1).clamp_min(1);
}

}  // namespace

AlignmentState DrawStart(const PairMaps& maps, const PairBatch& batch, const LossOptions& options) {
  constexpr double kStartOverlap = 0.4;
  torch::NoGradGuard no_grad;
  const auto pairs = batch.Size();
  const auto floats = batch.camera.options();
  AlignmentState truth;
  truth.rotation = batch.rotation;
  truth.translation = batch.translation;
  const auto mean = [&](const torch::Tensor& depth, const torch::Tensor& valid) {
    return (depth * valid).flatten(1).sum(1) / valid.flatten(1).sum(1).clamp_min(1);
  };
  const torch::Tensor known = batch.target_depth.gt(0).to(torch::kFloat) * maps.target_mask;
  truth.log_scale = torch::log(mean(batch.target_depth, known).clamp_min(1e-3)) -
                    torch::log(mean(maps.average, maps.source_mask).clamp_min(1e-3));
  truth.code = torch::zeros({pairs, maps.bases.size(1)}, floats);
  const auto direction = [&] {
    const torch::Tensor v = torch::randn({pairs, 3}, floats);
    return v / v.norm(2, 1, true).clamp_min(1e-6);
  };
  const torch::Tensor length = options.start_translation * torch::rand({pairs, 1}, floats);
  const torch::Tensor move = length * direction();
  const torch::Tensor angle = options.start_rotation * torch::rand({pairs, 1}, floats);
  const torch::Tensor turn = angle * direction();
  const torch::Tensor rest = torch::zeros({pairs, 1 + truth.code.size(1)}, floats);
  // The full displacement where the overlap allows it, less otherwise.
  AlignmentState start = truth;
  torch::Tensor found = torch::zeros({pairs}, floats).gt(0.5);
  for (const double share : {1.0, 0.7, 0.45, 0.2}) {
    const AlignmentState tried = RetractState(truth, torch::cat({share * move, share * turn, rest}, 1));
    const torch::Tensor take = found.logical_not() * StartOverlap(batch, maps, tried).ge(kStartOverlap);
    start.rotation = torch::where(take.view({-1, 1, 1}), tried.rotation, start.rotation);
    start.translation = torch::where(take.view({-1, 1}), tried.translation, start.translation);
    found = found.logical_or(take);
  }
  return start;
}

torch::Tensor ComputeFlowError(const PairBatch& batch, const torch::Tensor& depth,
                               const AlignmentState& state) {
  torch::NoGradGuard no_grad;
  const TrueWarp truth = WarpByTruth(batch);
  const auto [pixels, positive] = WarpByEstimate(batch.camera, depth, state);
  const torch::Tensor valid = truth.visible.flatten(1);
  const torch::Tensor distance = (pixels - truth.pixels.flatten(1, 2)).norm(2, 2).clamp_max(100.0);
  return (torch::where(positive.gt(0), distance, torch::full_like(distance, 100.0)) * valid).sum(1) /
         valid.sum(1).clamp_min(1);
}

namespace {

// 1 for pairs that are about right when the shaping begins: (B).
torch::Tensor PlacedPairs(const PairBatch& batch, const PairMaps& maps, const AlignmentResult& result,
                          const AlignmentOptions& alignment) {
  constexpr double kPlaced = 2;  // px
  torch::NoGradGuard no_grad;
  const int last = std::clamp(alignment.placing_iterations - 1, 0, static_cast<int>(result.steps.size()) - 1);
  const AlignmentState& state = result.steps[static_cast<size_t>(last)];
  return ComputeFlowError(batch, ComposeDepth(maps.average, maps.bases, state), state)
      .lt(kPlaced)
      .to(torch::kFloat);
}

}  // namespace

namespace {

// The adversary judges whole depth maps: of pairs whose truth is known at single places it sees nothing.
void KeepDense(const torch::Tensor& known, const torch::Tensor& content, JointOutput& output) {
  constexpr double kDense = 0.3;  // of the content
  const torch::Tensor share = known.flatten(1).sum(1) / content.flatten(1).sum(1).clamp_min(1);
  const torch::Tensor dense = share.ge(kDense).nonzero().flatten();
  if (dense.size(0) == known.size(0)) return;
  output.picture = output.picture.index_select(0, dense);
  output.real = output.real.index_select(0, dense);
  for (torch::Tensor& estimate : output.estimates) estimate = estimate.index_select(0, dense);
}

}  // namespace

JointOutput ComputeJointLosses(PriorNetworks& networks, Discriminator& discriminator, const PairBatch& batch,
                               const LossOptions& options, const AlignmentOptions& alignment) {
  JointOutput output;
  LossTerms& losses = output.losses;
  const FeatureMaps features = RunFeatureNetwork(networks, batch);
  PairMaps maps = RunNetworks(networks, features, batch);
  if (!options.joint_features) {
    maps.source_map = maps.source_map.detach();
    maps.target_map = maps.target_map.detach();
  }
  const int levels = static_cast<int>(alignment.level_weights.size());
  AlignmentProblem problem = MakeAlignmentProblem(maps, batch, options, levels);
  const AlignmentState start = DrawStart(maps, batch, options);
  problem.scale_goal = start.log_scale;
  const AlignmentResult result = AlignPairs(problem, start, alignment);

  const torch::Tensor known = batch.source_depth.gt(0).to(torch::kFloat) * maps.source_mask;
  const torch::Tensor valid = known * batch.source_weight;
  const torch::Tensor target_valid = batch.target_depth.gt(0) * batch.target_weight * maps.target_mask;
  const torch::Tensor final_depth = ComposeDepth(maps.average, maps.bases, result.state);
  const auto depth_loss = [&](const torch::Tensor& depth, const torch::Tensor& truth,
                              const torch::Tensor& where) {
    return ScaleInvariantLoss(depth, truth, where, options.depth_share);
  };
  const torch::Tensor target_truth = batch.target_depth / batch.target_scale.view({-1, 1, 1, 1});
  losses.Add("depth", options.depth_weight,
             0.375 * depth_loss(maps.average, batch.source_depth, valid) +
                 0.25 * depth_loss(maps.target_average, target_truth, target_valid));
  // A pair that was not placed teaches nothing about shape.
  const torch::Tensor placed = PlacedPairs(batch, maps, result, alignment).view({-1, 1, 1, 1});
  losses.Add(
      "aligned", options.aligned_weight,
      ScaleInvariantLoss(final_depth.clamp_min(kLeastFinalDepth), batch.source_depth, valid * placed, 1.0));
  losses.Add("span", 0.25 * options.span_weight,
             BasisSpanLoss(maps.average, maps.bases, batch.source_depth, valid));
  losses.Add("decorrelation", options.decorrelation_weight, DecorrelationLoss(maps.bases, maps.source_mask));

  const TrueWarp truth = WarpByTruth(batch);
  losses.Add("flow", options.flow_weight,
             FlowLossOf(batch, truth, maps.source_mask * placed, final_depth, result.state));

  AddFeatureLosses(features, batch, options, losses);

  {
    torch::NoGradGuard no_grad;
    output.picture =
        torch::avg_pool2d(TurnImages(batch.source.image, -batch.source.angle, false), 2) * maps.source_mask;
    output.real = batch.source_depth * known;
  }
  const auto normalised = [&](const torch::Tensor& depth) {
    const torch::Tensor shown = torch::relu(depth) * known;
    return shown / (shown.flatten(1).amax(1).view({-1, 1, 1, 1}) + 1e-4);
  };
  output.real = normalised(output.real);
  output.estimates.push_back(normalised(maps.average));
  const AlignmentState& halfway = result.steps[result.steps.size() / 2];
  output.estimates.push_back(normalised(ComposeDepth(maps.average, maps.bases, halfway)));
  output.estimates.push_back(normalised(final_depth));
  KeepDense(known, maps.source_mask, output);
  if (options.adversarial_weight > 0) {
    torch::Tensor sum = torch::zeros({}, known.options());
    for (const torch::Tensor& estimate : output.estimates) {
      if (estimate.size(0) > 0) sum = sum + GeneratorLoss(discriminator->forward(output.picture, estimate));
    }
    losses.Add("adversarial", options.adversarial_weight / static_cast<double>(output.estimates.size()), sum);
  }
  output.flow_error = ComputeFlowError(batch, final_depth, result.state);
  return output;
}

torch::Tensor ComputeDiscriminatorLoss(Discriminator& discriminator, const JointOutput& output) {
  const torch::Tensor on_real = discriminator->forward(output.picture, output.real);
  torch::Tensor sum;
  for (const torch::Tensor& estimate : output.estimates) {
    const torch::Tensor loss =
        DiscriminatorLoss(on_real, discriminator->forward(output.picture, estimate.detach()));
    sum = sum.defined() ? sum + loss : loss;
  }
  return sum / static_cast<double>(output.estimates.size());
}

}  // namespace lumen
