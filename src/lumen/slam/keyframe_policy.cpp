#include "lumen/slam/keyframe_policy.h"

#include "lumen/base/text.h"

namespace lumen {

namespace {

struct Bounds {
  double area, point, flow;
};

// The more crowded, the further towards what is enough on a known way.
Bounds BoundsAt(const KeyframeOptions& options, const KeyframeMoment& moment) {
  const Bounds strict{options.min_area, options.min_point, options.max_flow};
  const Bounds wide{options.revisit_area, options.revisit_point, options.revisit_flow};
  if (moment.revisiting) return wide;
  const auto between = [&](double a, double b) { return a + moment.crowding * (b - a); };
  return {between(strict.area, wide.area), between(strict.point, wide.point),
          between(strict.flow, wide.flow)};
}

}  // namespace

KeyframeVerdict DecideKeyframe(const TrackResult& tracked, const KeyframeOptions& options,
                               const KeyframeMoment& moment) {
  if (!tracked.Placed()) return {KeyframeDecision::kLost, tracked.reason};
  // The map does not grow from a place that is half believed, nor from a picture with nothing in it.
  if (tracked.status == TrackStatus::kWeak) return {KeyframeDecision::kContinue, tracked.reason};
  if (moment.blank || moment.in_a_row >= options.most_in_a_row) return {KeyframeDecision::kContinue, ""};
  const Bounds bounds = BoundsAt(options, moment);
  const Overlap& overlap = tracked.overlap;
  const auto wanted = [](const char* why, double value) {
    return KeyframeVerdict{KeyframeDecision::kNewKeyframe, StrCat(why, value)};
  };
  if (overlap.area < bounds.area) return wanted("overlap by area ", overlap.area);
  if (overlap.point < bounds.point) return wanted("overlap by points ", overlap.point);
  if (overlap.flow > bounds.flow) return wanted("mean flow ", overlap.flow);
  // Without motion there is nothing a new keyframe would show, whatever the matches say.
  if (overlap.flow < options.least_flow) return {KeyframeDecision::kContinue, ""};
  if (tracked.ConsistentInlierRatio() < options.min_inlier_ratio)
    return wanted("inlier ratio ", tracked.ConsistentInlierRatio());
  if (tracked.explained < options.min_explained) return wanted("matches explained ", tracked.explained);
  return {KeyframeDecision::kContinue, ""};
}

}  // namespace lumen
