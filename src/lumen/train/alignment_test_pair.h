// One and the same small pair as room `factors` and as the training's solver see it, for their tests.
#pragma once

#include "lumen/factors/feature_metric_factor.h"
#include "lumen/factors/match_factors.h"
#include "lumen/image/pyramid.h"
#include "lumen/train/alignment.h"
#include "lumen/train/losses.h"
#include "lumen/train/pair_batch.h"

namespace lumen {

inline constexpr int kWidth = 40;
inline constexpr int kHeight = 32;
inline constexpr int kLevels = 2;
inline constexpr int kChannels = 16;
inline constexpr int kBases = 4;
inline constexpr int kBorder =
    4;  // the target's mask keeps away from the border, where the two read images differently

// Smooth random maps of any number of channels.
inline Image<float> SmoothMap(int channels, double amplitude, double offset, uint64_t seed) {
  Random random(seed);
  Image<float> map(kWidth, kHeight, channels);
  for (int c = 0; c < channels; ++c) {
    const double a = random.Uniform(0.05, 0.2);
    const double b = random.Uniform(0.05, 0.2);
    const double p = random.Uniform(0, 6);
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x)
        map(x, y, c) = static_cast<float>(offset + amplitude * std::sin(a * x + b * y + p));
    }
  }
  return map;
}

inline torch::Tensor ToMaps(const Image<float>& image) {
  return torch::from_blob(const_cast<float*>(image.Data()),
                          {1, image.Height(), image.Width(), image.Channels()})
      .permute({0, 3, 1, 2})
      .contiguous()
      .to(torch::kDouble);
}

// One and the same pair for both sides.
struct TestPair {
  std::shared_ptr<const View> view;
  std::shared_ptr<const Keyframe> source, target;
  std::shared_ptr<const KeyframeSamples> samples;
  std::vector<Match> matches;
  Rigid3 target_from_source = Rigid3::Exp((Vector6d() << 0.05, -0.03, 0.04, 0.02, -0.03, 0.05).finished());
  double log_scale = 0.1;
  Eigen::VectorXd code = Eigen::VectorXd::LinSpaced(kBases, -0.1, 0.15);
};

inline std::shared_ptr<const Keyframe> MakeTestKeyframe(const std::shared_ptr<const View>& view,
                                                        uint64_t seed) {
  auto frame = std::make_shared<Frame>();
  frame->view = view;
  frame->features = MakeFeaturePyramid(SmoothMap(kChannels, 0.7, 0, seed),
                                       SmoothMap(kChannels, 0.7, 0, seed + 1), view->mask, kLevels);
  return std::make_shared<const Keyframe>(Keyframe{
      frame,
      MakeDepthBasis(SmoothMap(1, 0.2, 1.2, seed + 2), SmoothMap(kBases, 0.5, 0, seed + 3), view->mask)});
}

inline TestPair MakeTestPair(double alpha = 0) {
  auto view = std::make_shared<View>();
  view->camera = {30, 30, (kWidth - 1) / 2.0, (kHeight - 1) / 2.0, alpha};
  view->mask = Mask(kWidth, kHeight, 1, 0);
  for (int y = kBorder; y < kHeight - kBorder; ++y) {
    for (int x = kBorder; x < kWidth - kBorder; ++x) view->mask(x, y) = 255;
  }
  view->eroded_mask = view->mask;
  TestPair pair;
  pair.view = view;
  pair.source = MakeTestKeyframe(view, 1);
  pair.target = MakeTestKeyframe(view, 11);
  std::vector<Eigen::Vector2i> pixels;
  for (int y = kBorder; y < kHeight - kBorder; y += 3) {
    for (int x = kBorder; x < kWidth - kBorder; x += 3) pixels.emplace_back(x, y);
  }
  pair.samples = MakeKeyframeSamples(pair.source, pixels);
  for (int k = 0; k < 9; ++k) pair.matches.push_back({{8 + 2 * k, 8 + k}, {9.0 + 2 * k, 8.0 + k}, 1.0});
  return pair;
}

inline AlignmentProblem ToProblem(const TestPair& pair) {
  AlignmentProblem problem;
  const auto count = static_cast<int64_t>(pair.samples->pixels.size());
  const torch::Tensor camera =
      torch::tensor({pair.view->camera.fx, pair.view->camera.fy, pair.view->camera.cx, pair.view->camera.cy,
                     pair.view->camera.alpha},
                    torch::kDouble)
          .view({1, 5});
  const torch::Tensor mask =
      torch::from_blob(const_cast<uint8_t*>(pair.view->mask.Data()), {1, 1, kHeight, kWidth}, torch::kUInt8)
          .gt(0)
          .to(torch::kDouble);
  std::vector<double> xy;
  for (const int pixel : pair.samples->pixels) {
    xy.push_back(pixel % kWidth);
    xy.push_back(pixel / kWidth);
  }
  const torch::Tensor pixels = torch::tensor(xy, torch::kDouble).view({1, count, 2});
  const torch::Tensor rays = MakeRays(camera, kWidth, kHeight).transpose(1, 2).view({1, 3, kHeight, kWidth});
  const auto features = [&](const Keyframe& keyframe) {
    Image<float> map(kWidth, kHeight, kChannels);
    const Image<float>& values = keyframe.frame->features.levels[0].values;
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) std::copy_n(values.Pixel(x, y), kChannels, map.Pixel(x, y));
    }
    return MakeFeatureLevels(ToMaps(map), mask, kLevels);
  };
  const auto source = features(*pair.source);
  problem.target_features = features(*pair.target);
  for (int l = 0; l < kLevels; ++l)
    problem.source_features.push_back(
        SampleMaps(source[static_cast<size_t>(l)].slice(1, 0, kChannels), AtLevel(pixels, l)));
  problem.average = SampleMaps(ToMaps(pair.source->depth.average), pixels).squeeze(2);
  problem.bases = SampleMaps(ToMaps(pair.source->depth.bases), pixels);
  problem.rays = SampleMaps(rays, pixels);
  problem.weight = torch::ones({1, count}, torch::kDouble);
  problem.camera = camera;
  problem.target_mask = mask;
  problem.target_known = torch::ones_like(mask);
  problem.target_depth = WithGradients(ToMaps(pair.target->depth.average), mask);
  std::vector<double> from, to;
  for (const Match& match : pair.matches) {
    from.insert(from.end(), {static_cast<double>(match.source.x()), static_cast<double>(match.source.y())});
    to.insert(to.end(), {match.target.x(), match.target.y()});
  }
  const auto matches = static_cast<int64_t>(pair.matches.size());
  const torch::Tensor keypoints = torch::tensor(from, torch::kDouble).view({1, matches, 2});
  const torch::Tensor places = torch::tensor(to, torch::kDouble).view({1, matches, 2});
  problem.match_average = SampleMaps(ToMaps(pair.source->depth.average), keypoints).squeeze(2);
  problem.match_bases = SampleMaps(ToMaps(pair.source->depth.bases), keypoints);
  problem.match_rays = SampleMaps(rays, keypoints);
  problem.match_points = SampleMaps(ToMaps(pair.target->depth.average), places) * SampleMaps(rays, places);
  problem.match_pixels = places;
  problem.match_weight = torch::ones({1, matches}, torch::kDouble);
  problem.mean_square = torch::full({1}, static_cast<double>(pair.source->depth.mean_square), torch::kDouble);
  problem.scale_goal = torch::zeros({1}, torch::kDouble);
  return problem;
}

inline AlignmentState ToState(const TestPair& pair) {
  AlignmentState state;
  const Eigen::Matrix<double, 3, 3, Eigen::RowMajor> R = pair.target_from_source.RotationMatrix();
  state.rotation = torch::from_blob(const_cast<double*>(R.data()), {1, 3, 3}, torch::kDouble).clone();
  const Eigen::Vector3d t = pair.target_from_source.Translation();
  state.translation = torch::from_blob(const_cast<double*>(t.data()), {1, 3}, torch::kDouble).clone();
  state.log_scale = torch::full({1}, pair.log_scale, torch::kDouble);
  state.code = torch::from_blob(const_cast<double*>(pair.code.data()), {1, kBases}, torch::kDouble).clone();
  return state;
}

// All factors, both halves of the solve.
inline AlignmentOptions WholeOptions() {
  AlignmentOptions options;
  options.level_weights = {10, 9};
  options.iterations = 4;
  options.code_prior_weight = 1e-2;
  return options;
}

}  // namespace lumen
