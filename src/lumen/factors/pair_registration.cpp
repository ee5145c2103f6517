#include "lumen/factors/pair_registration.h"

#include <cmath>

#include "lumen/base/error.h"

namespace lumen {

void PairRegistrationOptions::Describe(ConfigVisitor& visitor) {
  visitor.Group("matching", matching);
  visitor.Group("registration", registration);
  visitor.Field(
      "noise_pixels", noise_pixels,
      {.min = 0.1, .max = 100, .unit = "px", .help = "how far a match may lie off, across the ray"});
  visitor.Field(
      "depth_noise", depth_noise,
      {.min = 0, .max = 1, .help = "how far a match may lie off along the ray, as a share of depth"});
}

namespace {

Eigen::Vector2i NearestPixel(const Eigen::Vector2d& x) {
  return {static_cast<int>(std::lround(x.x())), static_cast<int>(std::lround(x.y()))};
}

}  // namespace

DescriptorIndex MakeDescriptorIndex(const Frame& frame) {
  return {frame.features.descriptors, frame.view->mask};
}

PairRegistration RegisterMatches(const DepthFrame& source, const DepthFrame& target, const MatchSet& matched,
                                 const PairRegistrationOptions& options) {
  PairRegistration result;
  result.keypoints = matched.candidates;
  for (const Match& match : matched.matches) {
    const Eigen::Vector2i at = NearestPixel(match.target);
    if (!target.depth.Contains(at.x(), at.y())) continue;
    if (source.depth(match.source.x(), match.source.y()) > 0 && target.depth(at.x(), at.y()) > 0)
      result.consistent.push_back(match);
  }
  const UnifiedCamera& source_camera = source.frame->view->camera;
  const UnifiedCamera& target_camera = target.frame->view->camera;
  std::vector<Eigen::Vector3d> source_points, target_points;
  std::vector<double> bounds;
  const double pixel = options.noise_pixels / target_camera.fx;
  const double relative_bound = std::sqrt(pixel * pixel + options.depth_noise * options.depth_noise);
  for (const Match& match : result.consistent) {
    const Eigen::Vector2i at = NearestPixel(match.target);
    const double target_depth = target.depth(at.x(), at.y());
    source_points.emplace_back(source.depth(match.source.x(), match.source.y()) *
                               source_camera.RayAtUnitDepth(match.source.x(), match.source.y()));
    target_points.emplace_back(target_depth *
                               target_camera.RayAtUnitDepth(match.target.x(), match.target.y()));
    bounds.push_back(target_depth * relative_bound);
  }
  const RegistrationResult registration =
      EstimateRegistration(source_points, target_points, bounds, options.registration);
  result.status = registration.status;
  if (!result.Ok()) return result;
  result.target_from_source = registration.b_from_a;
  for (const int i : registration.inliers)
    result.inliers.push_back(result.consistent[static_cast<size_t>(i)]);
  return result;
}

MatchSet MatchPair(const Frame& source, const Frame& target, const PairRegistrationOptions& options,
                   uint64_t seed) {
  const DescriptorIndex source_index = MakeDescriptorIndex(source);
  const DescriptorIndex target_index = MakeDescriptorIndex(target);
  const auto keypoints = SampleKeypoints(source.view->eroded_mask, options.matching.keypoints, seed);
  return MatchDescriptors({source.features.descriptors, &source_index}, keypoints,
                          {target.features.descriptors, &target_index}, options.matching);
}

PairRegistration RegisterPair(const DepthFrame& source, const DepthFrame& target,
                              const PairRegistrationOptions& options, uint64_t seed) {
  LUMEN_CHECK(source.frame != nullptr && target.frame != nullptr);
  return RegisterMatches(source, target, MatchPair(*source.frame, *target.frame, options, seed), options);
}

}  // namespace lumen
