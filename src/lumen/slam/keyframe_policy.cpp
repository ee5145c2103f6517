#include "lumen/slam/keyframe_policy.h"

#include "lumen/base/text.h"

namespace lumen {

KeyframeVerdict DecideKeyframe(const TrackResult& tracked, const KeyframeOptions& options, bool revisiting) {
  if (!tracked.Placed()) return {KeyframeDecision::kLost, tracked.reason};
  // The map does not grow from a place that is half believed.
  if (tracked.status == TrackStatus::kWeak) return {KeyframeDecision::kContinue, tracked.reason};
  if (tracked.overlap.area < (revisiting ? options.revisit_area : options.min_area))
    return {KeyframeDecision::kNewKeyframe, StrCat("overlap by area ", tracked.overlap.area)};
  if (tracked.overlap.point < (revisiting ? options.revisit_point : options.min_point))
    return {KeyframeDecision::kNewKeyframe, StrCat("overlap by points ", tracked.overlap.point)};
  if (tracked.overlap.flow > (revisiting ? options.revisit_flow : options.max_flow))
    return {KeyframeDecision::kNewKeyframe, StrCat("mean flow ", tracked.overlap.flow)};
  if (tracked.ConsistentInlierRatio() < options.min_inlier_ratio)
    return {KeyframeDecision::kNewKeyframe, StrCat("inlier ratio ", tracked.ConsistentInlierRatio())};
  return {KeyframeDecision::kContinue, ""};
}

}  // namespace lumen
