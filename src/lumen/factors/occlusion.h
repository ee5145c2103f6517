// What of one keyframe another one cannot see because something stands before it: such a sample lands on a
// wall it does not belong to, and would pull its depth towards that.
#pragma once

#include "lumen/factors/keyframe_samples.h"

namespace lumen {

// The samples that land in the target behind the depth it sees there, by more than `margin` of that depth.
HiddenSamples FindHidden(const KeyframeSamples& source, const KeyframeState& source_state,
                         const Keyframe& target, const KeyframeState& target_state, double margin);

}  // namespace lumen
