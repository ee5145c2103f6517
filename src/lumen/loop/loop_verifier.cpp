#include "lumen/loop/loop_verifier.h"

#include "lumen/base/text.h"

namespace lumen {

namespace {
constexpr double kAgreementPixels = 3;
constexpr int kAgreementKeypoints = 192;
}  // namespace

LoopVerifierOptions::LoopVerifierOptions() {
  matching.matching.keypoints = 512;
  matching.registration = RegistrationOptions::ForManyOutliers();
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

PairRegistration LoopVerifier::Register(const LoopSide& query, const LoopSide& reference,
                                        uint64_t seed) const {
  const DepthImage query_depth = ComputeDepth(query);
  const DepthImage reference_depth = ComputeDepth(reference);
  return RegisterPair({query.GetKeyframe().frame.get(), query_depth},
                      {reference.GetKeyframe().frame.get(), reference_depth}, options_.matching, seed);
}

double LoopVerifier::Agreement(const LoopSide& query, const LoopSide& reference, uint64_t seed) const {
  const DepthImage depth = ComputeDepth(query);
  const DepthImage reference_depth = ComputeDepth(reference);
  MatchOptions options = options_.matching.matching;
  options.keypoints = std::min(options.keypoints, kAgreementKeypoints);
  const PairRegistration matched =
      MatchPair({query.GetKeyframe().frame.get(), depth},
                {reference.GetKeyframe().frame.get(), reference_depth}, options, seed);
  if (matched.consistent.empty()) return 0;
  const Rigid3 reference_from_query =
      reference.state.world_from_camera.Inverse() * query.state.world_from_camera;
  const PinholeCamera& from = query.GetKeyframe().frame->view->camera;
  const PinholeCamera& to = reference.GetKeyframe().frame->view->camera;
  int explained = 0;
  for (const Match& match : matched.consistent) {
    const double d = depth(match.source.x(), match.source.y());
    const Eigen::Vector3d point =
        reference_from_query * Eigen::Vector3d(d * from.RayAtUnitDepth(match.source.x(), match.source.y()));
    const auto pixel = to.Project(point);
    if (pixel && (*pixel - match.target).norm() < kAgreementPixels) ++explained;
  }
  return static_cast<double>(explained) / static_cast<double>(matched.keypoints);
}

std::shared_ptr<const KeyframeSamples> LoopVerifier::SamplesOf(
    const std::shared_ptr<const Keyframe>& keyframe) const {
  if (samples_ == nullptr || samples_->keyframe != keyframe) {
    const auto pixels = SampleKeypoints(keyframe->frame->view->eroded_mask, options_.samples, 1);
    samples_ = MakeKeyframeSamples(keyframe, pixels);
  }
  return samples_;
}

PairEvidence LoopVerifier::Examine(const LoopSide& query, const LoopSide& reference, uint64_t seed) const {
  PairEvidence evidence;
  const PairRegistration matched = Register(query, reference, seed);
  evidence.inlier_ratio = matched.InlierRatio();
  if (!matched.Ok() || evidence.inlier_ratio < options_.min_inlier_ratio) {
    evidence.reason = StrCat("only ", matched.inliers.size(), " of ", matched.keypoints,
                             " keypoints match and agree in space");
    return evidence;
  }
  PairAlignmentProblem problem;
  problem.source = SamplesOf(query.keyframe);
  problem.target = reference.GetKeyframe().frame;
  problem.matches = matched.inliers;
  // The registration's scale brings the query's depth to the reference's unit.
  problem.source_log_scale = query.state.log_scale + std::log(matched.target_from_source.Scale());
  problem.source_code = query.state.code;
  problem.target_keyframe = reference.keyframe;
  problem.target_log_scale = reference.state.log_scale;
  problem.target_code = reference.state.code;
  const Rigid3 initial(matched.target_from_source.Rotation(), matched.target_from_source.Translation());
  const PairAlignmentResult aligned = AlignPair(problem, initial, options_.alignment);
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
