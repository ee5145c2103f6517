#include "lumen/train/validation.h"

#include "lumen/train/losses.h"

namespace lumen {

namespace {

// Mean relative error and share within a factor of 1.25 per picture, after scaling by the median ratio: (2,
// B).
torch::Tensor GradeDepth(const torch::Tensor& depth, const torch::Tensor& truth, const torch::Tensor& valid) {
  std::vector<torch::Tensor> ard, threshold;
  for (int64_t b = 0; b < depth.size(0); ++b) {
    const torch::Tensor where = valid[b].gt(0.5);
    if (where.sum().item<int64_t>() < 50) continue;
    const torch::Tensor d = depth[b].masked_select(where).clamp_min(1e-4);
    const torch::Tensor t = truth[b].masked_select(where);
    const torch::Tensor scaled = d * torch::median(t / d);
    ard.push_back(((scaled - t).abs() / t).mean());
    threshold.push_back(torch::maximum(scaled / t, t / scaled).lt(1.25).to(torch::kFloat).mean());
  }
  if (ard.empty()) return torch::zeros({2, 1});
  return torch::stack({torch::stack(ard), torch::stack(threshold)});
}

}  // namespace

ValidationNumbers Validate(PriorNetworks& networks, const ClipStore& store, int pairs,
                           const LossOptions& losses, AlignmentOptions alignment) {
  torch::NoGradGuard no_grad;
  torch::manual_seed(1);
  AugmentationOptions none;
  none.photometric = none.turned = none.relative_roll = none.masked = 0;
  const PairBatch batch = store.Draw(pairs, none, Random(1));
  const PairMaps maps = RunNetworks(networks, batch);
  const torch::Tensor valid = batch.source_depth.gt(0).to(torch::kFloat) * maps.source_mask;
  ValidationNumbers numbers;
  const torch::Tensor depth = GradeDepth(maps.average, batch.source_depth, valid).mean(1);
  numbers.ard = depth[0].item<double>();
  numbers.threshold = depth[1].item<double>();

  const TrueWarp truth = WarpByTruth(batch);
  const auto [keypoints, known] = DrawPixels(truth.visible, 256);
  const auto [places, kept] = MatchMaps(maps, keypoints, losses.cycle_distance);
  const torch::Tensor right = (places - SampleMaps(truth.pixels.permute({0, 3, 1, 2}), keypoints))
                                  .norm(2, 2)
                                  .le(2.0)
                                  .to(torch::kFloat);
  numbers.match_kept = ((kept * known).sum() / known.sum().clamp_min(1)).item<double>();
  numbers.match_precision = ((right * kept * known).sum() / (kept * known).sum().clamp_min(1)).item<double>();

  alignment.placing_iterations = alignment.iterations = 15;
  AlignmentProblem problem =
      MakeAlignmentProblem(maps, batch, losses, static_cast<int>(alignment.level_weights.size()));
  const AlignmentState start = DrawStart(maps, batch, losses);
  problem.scale_goal = start.log_scale;
  const AlignmentResult result = AlignPairs(problem, start, alignment);
  const torch::Tensor final_depth = ComposeDepth(maps.average, maps.bases, result.state);
  const torch::Tensor flow = ComputeFlowError(batch, final_depth, result.state);
  numbers.aligned = flow.lt(1.0).to(torch::kFloat).mean().item<double>();
  numbers.flow_error = torch::median(flow).item<double>();
  numbers.ard_before = numbers.ard;
  numbers.ard_after = GradeDepth(final_depth, batch.source_depth, valid).mean(1)[0].item<double>();
  return numbers;
}

}  // namespace lumen
