// What to do with a frame that was tracked: a pure function from statistics to a decision and its reason.
#pragma once

#include "lumen/slam/tracker.h"

namespace lumen {

enum class KeyframeDecision { kContinue, kNewKeyframe, kLost };

struct KeyframeVerdict {
  KeyframeDecision decision = KeyframeDecision::kContinue;
  std::string reason;
};

// A keyframe is needed where the frame sees enough that its reference does not: little overlap, much
// motion, or an appearance that is hardly recognised.
// A camera that is back where the map has been (`revisiting`) needs less: the place is known.
KeyframeVerdict DecideKeyframe(const TrackResult& tracked, const KeyframeOptions& options,
                               bool revisiting = false);

}  // namespace lumen
