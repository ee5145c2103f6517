// What to do with a frame that was tracked: a pure function from statistics to a decision and its reason.
#pragma once

#include "lumen/slam/tracker.h"

namespace lumen {

enum class KeyframeDecision { kContinue, kNewKeyframe, kLost };

struct KeyframeVerdict {
  KeyframeDecision decision = KeyframeDecision::kContinue;
  std::string reason;
};

// What besides a frame's own statistics decides about it.
struct KeyframeMoment {
  bool revisiting = false;  // the camera is back where the map has been, and needs less: the place is known
  bool blank = false;       // there is little to be seen in the picture
  int in_a_row = 0;         // frames right before this one that became keyframes
  double crowding = 0;      // how densely keyframes come; see VideoHabits
};

// A keyframe is needed where the frame sees enough that its reference does not: little overlap, much motion,
// or, after some motion, an appearance that is hardly recognised.
KeyframeVerdict DecideKeyframe(const TrackResult& tracked, const KeyframeOptions& options,
                               const KeyframeMoment& moment = {});

}  // namespace lumen
