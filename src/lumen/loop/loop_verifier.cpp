#include "lumen/loop/loop_verifier.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/text.h"

namespace lumen {

namespace {
constexpr double kAgreementPixels = 3;
constexpr int kAgreementKeypoints = 192;
constexpr int kFirstKeypoints = 128;
constexpr double kFirstShare = 0.5;  // of the inliers a pair needs, that the first keypoints must match
}  // namespace

LoopVerifierOptions::LoopVerifierOptions() {
  matching.matching.keypoints = 512;
  matching.registration = RegistrationOptions::ForManyOutliers();
  // Enough for the share of inliers that a pair needs here.
  matching.registration.scale_strides = 32;
  alignment.optimize_scale = true;
  alignment.use_matched_geometry = true;
}

void LoopVerifierOptions::Describe(ConfigVisitor& visitor) {
  visitor.Group("matching", matching);
  visitor.Group("alignment", alignment);
  visitor.Field("samples", samples, {.min = 64, .max = 100000, .help = "pixels warped in the alignment"});
  visitor.Field("min_inlier_ratio", min_inlier_ratio,
                {.min = 0, .max = 1, .help = "least share of keypoints that match and agree in space"});
  visitor.Field("min_area", min_area, {.min = 0, .max = 1, .help = "least overlap by area"});
  visitor.Field("min_point", min_point, {.min = 0, .max = 1, .help = "least overlap by points"});
}

bool PairEvidence::Rivals(const PairEvidence& base, double ratio) const {
  return verified && overlap.Product() >= ratio * base.overlap.Product() &&
         inlier_ratio >= ratio * base.inlier_ratio;
}

DepthImage ComputeDepth(const LoopSide& side) {
  return ComputeDepth(side.GetKeyframe().depth, side.state.log_scale, side.state.code);
}

MatchSet LoopVerifier::MatchAt(const Pixels& keypoints, const LoopSide& query,
                               const LoopSide& reference) const {
  const auto query_look = looks_.Of(query.keyframe);
  const auto reference_look = looks_.Of(reference.keyframe);
  return MatchDescriptors({query.GetKeyframe().frame->features.descriptors, &query_look->Index()}, keypoints,
                          {reference.GetKeyframe().frame->features.descriptors, &reference_look->Index()},
                          options_.matching.matching);
}

MatchSet LoopVerifier::Match(const LoopSide& query, const LoopSide& reference, uint64_t seed) const {
  const int count = std::min(options_.matching.matching.keypoints, kAgreementKeypoints);
  const Mask& mask = query.GetKeyframe().frame->view->eroded_mask;
  return MatchAt(SampleKeypoints(mask, count, seed), query, reference);
}

MatchAgreement CompareWithMatches(const LoopSide& query, const LoopSide& reference, const MatchSet& matched,
                                  double pixels) {
  const Rigid3 reference_from_query =
      reference.state.world_from_camera.Inverse() * query.state.world_from_camera;
  const UnifiedCamera& from = query.GetKeyframe().frame->view->camera;
  const UnifiedCamera& to = reference.GetKeyframe().frame->view->camera;
  const auto depth_at = [](const LoopSide& side, const Eigen::Vector2i& uv) {
    return side.GetKeyframe().depth.DepthAt(uv.x(), uv.y(), side.state.log_scale, side.state.code);
  };
  std::vector<double> ratios;  // of the matches that are explained
  for (const Match& match : matched.matches) {
    const Eigen::Vector2i seen(match.target.array().round().cast<int>());
    if (!reference.GetKeyframe().depth.average.Contains(seen.x(), seen.y())) continue;
    const double d = depth_at(query, match.source);
    const double other = depth_at(reference, seen);
    if (!(d > 0) || !(other > 0)) continue;
    const Eigen::Vector3d point =
        reference_from_query * Eigen::Vector3d(d * from.RayAtUnitDepth(match.source.x(), match.source.y()));
    const auto pixel = to.Project(point);
    if (pixel && (*pixel - match.target).norm() < pixels) ratios.push_back(std::log(to.Depth(point) / other));
  }
  MatchAgreement agreement;
  if (ratios.empty()) return agreement;
  agreement.share = static_cast<double>(ratios.size()) / static_cast<double>(matched.candidates);
  const auto middle = ratios.begin() + static_cast<int64_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  agreement.log_ratio = *middle;
  return agreement;
}

double Agreement(const LoopSide& query, const LoopSide& reference, const MatchSet& matched) {
  return CompareWithMatches(query, reference, matched, kAgreementPixels).share;
}

PairAlignmentResult LoopVerifier::Align(const LoopSide& query, const LoopSide& reference,
                                        const PairRegistration& registered) const {
  PairAlignmentProblem problem;
  problem.source = looks_.Of(query.keyframe)->Samples();
  problem.target = looks_.Of(reference.keyframe)->UnpackedFrame();
  problem.matches = registered.inliers;
  // The registration's scale brings the query's depth to the reference's unit.
  problem.source_log_scale = query.state.log_scale + std::log(registered.target_from_source.Scale());
  problem.source_code = query.state.code;
  problem.target_keyframe = reference.keyframe;
  problem.target_log_scale = reference.state.log_scale;
  problem.target_code = reference.state.code;
  const Rigid3 initial(registered.target_from_source.Rotation(), registered.target_from_source.Translation());
  return AlignPair(problem, initial, options_.alignment);
}

// All keypoints, or the first alone where they say already that the pair has nothing in common.
MatchSet LoopVerifier::MatchUnlessHopeless(const LoopSide& query, const LoopSide& reference,
                                           uint64_t seed) const {
  Pixels keypoints = SampleKeypoints(query.GetKeyframe().frame->view->eroded_mask,
                                     options_.matching.matching.keypoints, seed);
  const auto first_end = keypoints.begin() + std::min<int64_t>(kFirstKeypoints, std::ssize(keypoints));
  MatchSet matched = MatchAt({keypoints.begin(), first_end}, query, reference);
  const double needed = kFirstShare * options_.min_inlier_ratio * matched.candidates;
  if (static_cast<double>(matched.matches.size()) < needed) return matched;
  keypoints.erase(keypoints.begin(), first_end);
  const MatchSet rest = MatchAt(keypoints, query, reference);
  matched.candidates += rest.candidates;
  matched.matches.insert(matched.matches.end(), rest.matches.begin(), rest.matches.end());
  return matched;
}

PairEvidence LoopVerifier::Examine(const LoopSide& query, const LoopSide& reference, uint64_t seed) const {
  PairEvidence evidence;
  const auto matched = std::make_shared<const MatchSet>(MatchUnlessHopeless(query, reference, seed));
  const DepthImage query_depth = ComputeDepth(query);
  const DepthImage reference_depth = ComputeDepth(reference);
  const PairRegistration registered =
      RegisterMatches({query.GetKeyframe().frame.get(), query_depth},
                      {reference.GetKeyframe().frame.get(), reference_depth}, *matched, options_.matching);
  evidence.matches = matched;
  evidence.inlier_ratio = registered.InlierRatio();
  if (!registered.Ok() || evidence.inlier_ratio < options_.min_inlier_ratio) {
    evidence.reason = StrCat("only ", registered.inliers.size(), " of ", registered.keypoints,
                             " keypoints match and agree in space");
    return evidence;
  }
  const PairAlignmentResult aligned = Align(query, reference, registered);
  if (aligned.status == PairAlignmentStatus::kNoOverlap ||
      aligned.status == PairAlignmentStatus::kDegenerate) {
    evidence.reason = aligned.reason;
    return evidence;
  }
  evidence.feature_error = aligned.feature_error;
  evidence.goal = {aligned.target_from_source, aligned.source_log_scale, reference.state.log_scale};
  const DepthImage depth =
      ComputeDepth(query.GetKeyframe().depth, aligned.source_log_scale, query.state.code);
  evidence.overlap = MeasureOverlap(depth, *query.GetKeyframe().frame->view,
                                    *reference.GetKeyframe().frame->view, aligned.target_from_source);
  if (evidence.overlap.area < options_.min_area || evidence.overlap.point < options_.min_point) {
    evidence.reason = StrCat("overlap of only ", evidence.overlap.area, " by area and ",
                             evidence.overlap.point, " by points");
    return evidence;
  }
  evidence.verified = true;
  return evidence;
}

}  // namespace lumen
