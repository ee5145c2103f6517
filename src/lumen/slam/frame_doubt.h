// How likely it is that a frame is off: farther from where it was than a tenth of its view's depth, or turned
// by more than five degrees, once its sub-map has been aligned as a whole. At once by what tracking and
// mapping have seen so far, and at the end by all that the map then knows. Logistic models, whose weights
// were fitted on spoilt simulations (docs/uncertainty.md); nothing here changes what the map does.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "lumen/scene/certainty.h"
#include "lumen/slam/frame_log.h"
#include "lumen/slam/slam_options.h"
#include "lumen/slam/tracker.h"

namespace lumen {

inline constexpr int kComparedKeyframes = 3;  // keyframes between two whose depths are compared

// How the later one's depth disagrees with the earlier one's.
DepthDisagreement Disagreement(const MapKeyframe& earlier, const MapKeyframe& later);

// Frame by frame, in their order.
class LiveDoubt {
 public:
  LiveDoubt();
  // Of a frame that was placed against a keyframe with this disagreement: the probability.
  double Note(const DepthDisagreement& disagreement);
  void NoteLost();
  // What speaks most against the last frame, in words.
  std::string Reason() const;

 private:
  enum Cue { kSpread, kOffset, kLost, kCues };
  std::array<double, kCues> cues_;  // means that forget
  std::array<double, kCues> parts_{};
};

// For each frame in the log its probability; less than 0 where the map cannot say.
std::vector<double> DoubtFrames(const FrameLog& frames, const MapSnapshot& map, const MapCertainty& certainty,
                                const CertaintyOptions& options);

}  // namespace lumen
