#include "lumen/slam/slam_options.h"

#include <algorithm>

#include "lumen/base/parallel.h"

namespace lumen {

// Measured reasons: docs/decisions.md.
SlamOptions::SlamOptions() {
  constexpr double kRobust = 0.01;
  tracking.alignment.feature_metric.robust = kRobust;
  loop.verifier.alignment.feature_metric.robust = kRobust;
  mapping.feature_metric.robust = 0.03;
  mapping.feature_metric.level_weights = {10};
  for (FeatureMetricOptions* options :
       {&tracking.alignment.feature_metric, &loop.verifier.alignment.feature_metric, &mapping.feature_metric})
    options->relative = true;
  mapping.feature_metric.symmetric = true;
  mapping.geometric.weight = 0.002;
  mapping.smoother.held_slack = 3;
}

int SlamOptions::Threads() const {
  constexpr int kMost = 8;  // beyond, handing over costs more than it brings
  return threads > 0 ? threads : std::min(kMost, AvailableCores());
}

int SlamOptions::TrackingThreads() const {
  constexpr int kMost = 4;  // a linearisation takes half a millisecond
  constexpr int kBusy = 3;
  const int cores = threads > 0 ? threads : AvailableCores();
  return std::clamp(cores - kBusy, 1, kMost);
}

void TrackingOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("use_feature_metric", use_feature_metric, {.help = "align by feature maps (FM)"});
  visitor.Field("use_reprojection", use_reprojection, {.help = "align by matches (RP)"});
  visitor.Group("matching", matching);
  visitor.Group("alignment", alignment);
  visitor.Field("reference_ratio", reference_ratio,
                {.min = 0, .help = "share of the present reference's inliers a closer one must have"});
  visitor.Field(
      "foreseen_pixels", foreseen_pixels,
      {.min = 0.1, .max = 100, .unit = "px", .help = "a match this near its prediction was foreseen"});
  visitor.Field(
      "foreseen_share", foreseen_share,
      {.min = 0,
       .max = 2,
       .help = "share of matches foreseen from which on a frame's own depth is not computed; above 1: "
               "it always is"});
  visitor.Field("foreseen_matches", foreseen_matches,
                {.min = 3, .max = 100000, .help = "and at least so many of them"});
  visitor.Field("gate_pixels", gate_pixels,
                {.min = 0.5,
                 .max = 100,
                 .unit = "px",
                 .help = "matches this near their prediction serve where the registration fails"});
  visitor.Field("lost_overlap", lost_overlap,
                {.min = 0, .max = 1, .help = "less of the reference seen than this: lost"});
  visitor.Field("lost_inlier_ratio", lost_inlier_ratio,
                {.min = 0, .max = 1, .help = "fewer of the matches explained than this: lost"});
  visitor.Field("weak_inlier_ratio", weak_inlier_ratio,
                {.min = 0, .max = 1, .help = "fewer of the matches explained than this: weak"});
  visitor.Field("min_matches", min_matches, {.min = 3, .max = 1000, .help = "fewer matches than this: lost"});
  visitor.Field("most_weak", most_weak, {.min = 0, .max = 100000, .help = "weak frames in a row at most"});
  visitor.Field("dark_level", dark_level,
                {.min = 0, .max = 255, .help = "mean brightness below which a frame cannot be used"});
  visitor.Field("bright_share", bright_share,
                {.min = 0, .max = 1, .help = "share of saturated pixels beyond which it cannot"});
  visitor.Field("flat_contrast", flat_contrast,
                {.min = 0, .max = 1, .help = "local contrast a frame needs, as a share of brightness"});
  visitor.Field("max_step", max_step,
                {.min = 0, .help = "motion in a thirtieth of a second that is a jump, in mean depths"});
}

void KeyframeOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("min_area", min_area, {.min = 0, .max = 1, .help = "overlap by area that is still enough"});
  visitor.Field("min_point", min_point,
                {.min = 0, .max = 1, .help = "overlap by points that is still enough"});
  visitor.Field("max_flow", max_flow,
                {.min = 0, .max = 1, .help = "mean displacement, as a share of the width"});
  visitor.Field("min_inlier_ratio", min_inlier_ratio,
                {.min = 0, .max = 1, .help = "share of the cycle-checked matches that agree in space"});
  visitor.Field("min_explained", min_explained,
                {.min = 0, .max = 1, .help = "share of the cycle-checked matches that the pose explains"});
  visitor.Field("least_flow", least_flow,
                {.min = 0, .max = 1, .help = "less motion makes no keyframe for want of matches"});
  visitor.Field("revisit_area", revisit_area,
                {.min = 0, .max = 1, .help = "overlap by area with an older keyframe that is still enough"});
  visitor.Field(
      "revisit_point", revisit_point,
      {.min = 0, .max = 1, .help = "overlap by points with an older keyframe that is still enough"});
  visitor.Field("revisit_flow", revisit_flow,
                {.min = 0, .max = 1, .help = "mean displacement from an older keyframe"});
  visitor.Field("max_connections", max_connections,
                {.min = 1, .max = 20, .help = "temporal connections of a new keyframe, at most"});
  visitor.Field(
      "connection_inlier_ratio", connection_inlier_ratio,
      {.min = 0, .max = 1, .help = "matches a further connection needs, as a share of the first's"});
  visitor.Field("patience", patience,
                {.min = 0,
                 .max = 100000,
                 .unit = "s",
                 .help = "of usable frames that cannot be placed before a new sub-map is begun"});
  visitor.Field("most_in_a_row", most_in_a_row,
                {.min = 1, .max = 1000, .help = "keyframes on consecutive frames"});
  visitor.Field("calm_rate", calm_rate,
                {.min = 0, .max = 1, .help = "keyframes a frame beyond which bounds grow wider"});
  visitor.Field("crowded_rate", crowded_rate,
                {.min = 0, .max = 2, .help = "and at which they are those of a known way"});
  visitor.Field("rate_frames", rate_frames,
                {.min = 1, .max = 1e6, .help = "frames over which that rate is averaged"});
  visitor.Field("blank_contrast", blank_contrast,
                {.min = 0, .max = 1, .help = "share of the usual contrast that makes a picture usable"});
  visitor.Field("noise_ratio", noise_ratio,
                {.min = 0, .max = 100, .help = "bound on a match's depth, in the spread the video shows"});
  visitor.Field("least_noise", least_noise, {.min = 1e-3, .max = 1, .help = "the least such bound"});
  visitor.Field("most_noise", most_noise, {.min = 0, .max = 1, .help = "and the largest"});
}

void MappingOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("use_feature_metric", use_feature_metric, {.help = "FM between keyframes"});
  visitor.Group("feature_metric", feature_metric);
  visitor.Group("geometric", geometric);
  visitor.Group("points", points);
  visitor.Field("code_weight", code_weight,
                {.min = 0, .help = "CD: holds the codes' share of the depth near zero"});
  visitor.Field("anchor_weight", anchor_weight, {.min = 0, .help = "PS and SC of a map's first keyframe"});
  visitor.Field("samples", samples, {.min = 64, .max = 100000, .help = "pixels warped per keyframe"});
  visitor.Field("geometric_samples", geometric_samples,
                {.min = 64, .max = 100000, .help = "pixels warped per keyframe for GC"});
  visitor.Field(
      "hidden_margin", hidden_margin,
      {.min = 0,
       .max = 10,
       .help = "share of the depth behind what the other keyframe sees that hides a sample; 0: off"});
  visitor.Field("updates", updates, {.min = 1, .max = 100, .help = "smoother steps after a keyframe"});
  visitor.Field("evaluations", evaluations,
                {.min = 0, .help = "connections evaluated again in one step; 0: all that moved"});
  visitor.Field("settle_after", settle_after,
                {.min = 0, .max = 100000, .help = "keyframes after which a code is held; 0: never"});
  visitor.Field("refine_updates", refine_updates, {.min = 0, .max = 1000, .help = "steps of --refine"});
  visitor.Field("refine_settled", refine_settled,
                {.min = 1, .max = 1000, .help = "quiet steps in a row that end a refinement"});
  visitor.Group("smoother", smoother);
}

void LoopOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("local", local, {.help = "search for loops within the last keyframes"});
  visitor.Field("global", global, {.help = "search for loops by appearance in the whole map"});
  visitor.Field("local_window", local_window,
                {.min = 1, .max = 1000, .help = "keyframes a local loop spans"});
  visitor.Field("local_gap", local_gap, {.min = 1, .max = 1000, .help = "nearer in time is no loop"});
  visitor.Field("local_distance_ratio", local_distance_ratio,
                {.min = 0, .help = "largest distance, in those to the closest neighbour in time"});
  visitor.Field("metric_ratio", metric_ratio,
                {.min = 0, .max = 1, .help = "how much of the neighbours' match and overlap a loop needs"});
  visitor.Field("global_gap", global_gap, {.min = 1, .max = 100000, .help = "keyframes between loop ends"});
  visitor.Field("max_candidates", max_candidates,
                {.min = 1, .max = 1000, .help = "asked of the place index"});
  visitor.Field("max_verified", max_verified, {.min = 1, .max = 1000, .help = "looked at closely"});
  visitor.Field("similarity_ratio", similarity_ratio,
                {.min = 0, .max = 1, .help = "place similarity, as a share of that to a neighbour"});
  visitor.Field("redundant_hops", redundant_hops,
                {.min = 1, .max = 1000, .help = "edges over which a place counts as reached already"});
  visitor.Group("verifier", verifier);
  visitor.Group("pose_scale", pose_scale);
  visitor.Field("probation", probation,
                {.min = 0, .max = 1000, .help = "keyframes during which a global loop must hold its own"});
  visitor.Field("min_agreement", min_agreement,
                {.min = 0, .max = 1, .help = "share of matches a loop's pose must go on explaining"});
  visitor.Field("min_supports", min_supports,
                {.min = 0, .max = 10, .help = "neighbours of the candidate that must tell the same"});
}

void MapOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("cull", cull, {.help = "keyframes of places that older ones show as well retire"});
  visitor.Field("cull_after", cull_after, {.min = 2, .max = 1000, .help = "keyframes added since"});
  visitor.Field("most_keyframes", most_keyframes,
                {.min = 0, .max = 1000000, .help = "kept active; beyond, the oldest retire; 0: no bound"});
}

void RelocalisationOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("candidates", candidates, {.min = 1, .max = 100, .help = "keyframes tried per frame"});
  visitor.Field("min_inlier_ratio", min_inlier_ratio,
                {.min = 0, .max = 1, .help = "share of keypoints that must match and agree in space"});
  visitor.Field("min_inliers", min_inliers, {.min = 4, .max = 1000, .help = "matches that must agree"});
  visitor.Field("min_overlap", min_overlap,
                {.min = 0, .max = 1, .help = "share of the keyframe that must be seen"});
}

void CertaintyOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("across", across,
                {.min = 0, .max = 100, .help = "the smoother's sigma of positions across the view, times"});
  visitor.Field("along", along, {.min = 0, .max = 100, .help = "the same along the view, times"});
  visitor.Field("turn", turn, {.min = 0, .max = 100, .help = "the smoother's sigma of directions, times"});
  visitor.Field("step_turn", step_turn,
                {.min = 0, .max = 100, .help = "the same from one keyframe to another, times"});
  visitor.Field("scale", scale, {.min = 0, .max = 1, .help = "sigma of a keyframe's scale, as a share"});
  visitor.Field("drift", drift, {.min = 0, .max = 1, .help = "of the way between keyframes, besides"});
  visitor.Field("bend", bend, {.min = 0, .max = 1, .help = "of the path's extent, besides"});
  visitor.Field("frame_position", frame_position,
                {.min = 0, .max = 1, .unit = "depths", .help = "what tracking adds between keyframes"});
  visitor.Field("frame_degrees", frame_degrees,
                {.min = 0, .max = 90, .unit = "degrees", .help = "what tracking adds between keyframes"});
}

void SlamOptions::Describe(ConfigVisitor& visitor) {
  visitor.Group("tracking", tracking);
  visitor.Group("keyframe", keyframe);
  visitor.Group("mapping", mapping);
  visitor.Group("loop", loop);
  visitor.Group("map", map);
  visitor.Group("relocalisation", relocalisation);
  visitor.Group("certainty", certainty);
  visitor.Field("threads", threads, {.min = 0, .max = 256, .help = "of the back end; 0: as there are cores"});
}

}  // namespace lumen
