#include "lumen/train/feature_losses.h"

#include "lumen/train/losses.h"

namespace lumen {

std::pair<torch::Tensor, torch::Tensor> DrawPixels(const torch::Tensor& mask, int count) {
  torch::NoGradGuard no_grad;
  const torch::Tensor flat = mask.flatten(1).gt(0.5).to(mask.dtype());
  const torch::Tensor order = flat + 0.5 * torch::rand_like(flat);
  const auto wanted = std::min<int64_t>(count, flat.size(1));
  const torch::Tensor index = std::get<1>(order.topk(wanted, 1));
  const auto width = mask.size(3);
  const torch::Tensor y = torch::floor_divide(index, width);
  const torch::Tensor x = index - y * width;
  return {torch::stack({x, y}, 2).to(mask.dtype()), flat.gather(1, index)};
}

torch::Tensor OnContent(const torch::Tensor& mask, const torch::Tensor& pixels) {
  torch::NoGradGuard no_grad;
  const auto width = static_cast<double>(mask.size(3));
  const auto height = static_cast<double>(mask.size(2));
  const torch::Tensor x = pixels.select(2, 0);
  const torch::Tensor y = pixels.select(2, 1);
  const torch::Tensor inside = x.ge(0) * x.le(width - 1) * y.ge(0) * y.le(height - 1);
  return inside.to(mask.dtype()) * SampleMaps(mask, pixels).squeeze(2).gt(0.5).to(mask.dtype());
}

namespace {

constexpr int kMapLevels = 4;
constexpr int kDriftGroups = 4;

// True correspondences at random places, in the turned pictures.
struct Correspondences {
  torch::Tensor source, target;  // (B, K, 2)
  torch::Tensor weight;          // (B, K)
  torch::Tensor place_pose;      // (B, K, 2, 6): how the target's places move with the pose
};

// How the pixels (B, K, 2) of a pair's target move with target_from_source (v, w, on the left), turned as its
// picture is. Lengths are in the target's median depths, so that moving and turning weigh alike.
torch::Tensor PlacesByPose(const PairBatch& batch, const torch::Tensor& points, int64_t width,
                           int64_t height) {
  // As WideMotionOf in factors/warp_block.h.
  const torch::Tensor fx = batch.camera.slice(1, 0, 1);
  const torch::Tensor fy = batch.camera.slice(1, 1, 2);
  const torch::Tensor rest = 1 - batch.camera.slice(1, 4, 5);
  const torch::Tensor depth = DepthOfPoints(batch.camera, points).clamp_min(1e-3);
  const torch::Tensor x = points.select(2, 0) / depth;
  const torch::Tensor y = points.select(2, 1) / depth;
  const torch::Tensor z = points.select(2, 2) / depth;
  const torch::Tensor near = batch.target_scale.view({-1, 1}) / depth;
  const std::vector<torch::Tensor> g = DepthByPoints(batch.camera, points).unbind(2);
  const torch::Tensor u =
      torch::stack({fx * near * (1 - x * g[0]), -fx * near * x * g[1], -fx * near * x * g[2],
                    -fx * rest * x * y, fx * (z + rest * x * x), -fx * y},
                   2);
  const torch::Tensor v =
      torch::stack({-fy * near * y * g[0], fy * near * (1 - y * g[1]), -fy * near * y * g[2],
                    -fy * (z + rest * y * y), fy * rest * x * y, fy * x},
                   2);
  const torch::Tensor columns = torch::stack({u, v}, 3).flatten(1, 2);  // (B, K·6, 2)
  const torch::Tensor turned = TurnPixels(columns, batch.target.angle, width, height) -
                               TurnPixels(torch::zeros_like(columns), batch.target.angle, width, height);
  return turned.view({points.size(0), points.size(1), 6, 2}).transpose(2, 3);
}

Correspondences DrawCorrespondences(const PairBatch& batch, const torch::Tensor& source_mask,
                                    const torch::Tensor& target_mask, int count) {
  torch::NoGradGuard no_grad;
  const TrueWarp warp = WarpByTruth(batch);
  const auto width = batch.source_depth.size(3);
  const auto height = batch.source_depth.size(2);
  const auto [pixels, known] = DrawPixels(warp.visible, count);
  const torch::Tensor index =
      (pixels.select(2, 1) * static_cast<double>(width) + pixels.select(2, 0)).to(torch::kLong);
  const torch::Tensor places = warp.pixels.flatten(1, 2).gather(1, index.unsqueeze(2).expand({-1, -1, 2}));
  Correspondences result;
  result.source = TurnPixels(pixels, batch.source.angle, width, height);
  result.target = TurnPixels(places, batch.target.angle, width, height);
  result.weight = known * OnContent(source_mask, result.source) * OnContent(target_mask, result.target);
  const torch::Tensor points = warp.points.gather(1, index.unsqueeze(2).expand({-1, -1, 3}));
  result.place_pose = PlacesByPose(batch, points, width, height);
  return result;
}

// Relative response both ways, of maps (B, C, H, W) on one level of their pyramids.
torch::Tensor ResponseBothWays(const torch::Tensor& source, const torch::Tensor& target,
                               const torch::Tensor& source_mask, const torch::Tensor& target_mask,
                               const Correspondences& pairs, double sigma) {
  const torch::Tensor forth = RelativeResponseLoss(
      {SampleMaps(source, pairs.source), target, target_mask, pairs.target, pairs.weight}, sigma);
  const torch::Tensor back = RelativeResponseLoss(
      {SampleMaps(target, pairs.target), source, source_mask, pairs.source, pairs.weight}, sigma);
  return 0.5 * (forth + back);
}

torch::Tensor HistogramLoss(const FeatureMaps& maps, const torch::Tensor& far_weight,
                            const LossOptions& options) {
  const auto pixels = maps.source_mask.size(2) * maps.source_mask.size(3);
  const torch::Tensor index =
      torch::randint(pixels, {options.histogram_pixels}, maps.source_mask.options().dtype(torch::kLong));
  const auto cdf = [&](const torch::Tensor& descriptor, const torch::Tensor& mask) {
    return SoftCdf(descriptor.flatten(2).index_select(2, index), mask.flatten(1).index_select(1, index),
                   options.histogram_bins);
  };
  return TripletHistogramLoss(cdf(maps.source_descriptor, maps.source_mask),
                              cdf(maps.target_descriptor, maps.target_mask),
                              cdf(maps.far_descriptor, maps.far_mask), far_weight, options.histogram_margin);
}

}  // namespace

void AddFeatureLosses(const FeatureMaps& maps, const PairBatch& batch, const LossOptions& options,
                      LossTerms& losses) {
  const Correspondences pairs =
      DrawCorrespondences(batch, maps.source_mask, maps.target_mask, options.keypoints);
  losses.Add("response", options.response_weight,
             ResponseBothWays(maps.source_descriptor, maps.target_descriptor, maps.source_mask,
                              maps.target_mask, pairs, options.descriptor_sigma));
  losses.Add("histogram", options.histogram_weight, HistogramLoss(maps, batch.far_weight, options));
  // The feature map is asked the same question on every level of its pyramid, more softly: a map whose
  // true place is the nearest on all of them is one that can be followed downhill.
  const auto channels = maps.source_map.size(1);
  const auto source = MakeFeatureLevels(maps.source_map, maps.source_mask, kMapLevels);
  const auto target = MakeFeatureLevels(maps.target_map, maps.target_mask, kMapLevels);
  torch::Tensor source_mask = maps.source_mask;
  torch::Tensor target_mask = maps.target_mask;
  torch::Tensor sum;
  for (int level = 0; level < kMapLevels; ++level) {
    if (level > 0) {
      source_mask = torch::max_pool2d(source_mask, 2);
      target_mask = torch::max_pool2d(target_mask, 2);
    }
    const auto l = static_cast<size_t>(level);
    const Correspondences there = {
        AtLevel(pairs.source, level), AtLevel(pairs.target, level), pairs.weight, {}};
    const torch::Tensor loss =
        ResponseBothWays(source[l].slice(1, 0, channels), target[l].slice(1, 0, channels), source_mask,
                         target_mask, there, options.map_sigma);
    sum = sum.defined() ? sum + loss : loss;
  }
  losses.Add("map", options.map_weight, sum);
  if (options.drift_weight <= 0 && options.descriptor_drift_weight <= 0) return;
  const auto drift = [&](const torch::Tensor& from, const torch::Tensor& to_with_gradients) {
    return PoseDriftLoss({SampleMaps(from, pairs.source), SampleMaps(to_with_gradients, pairs.target),
                          pairs.place_pose, pairs.weight},
                         kDriftGroups);
  };
  losses.Add("drift", options.drift_weight, drift(maps.source_map, target.front()));
  losses.Add("descriptor_drift", options.descriptor_drift_weight,
             drift(maps.source_descriptor, WithGradients(maps.target_descriptor, maps.target_mask)));
}

}  // namespace lumen
