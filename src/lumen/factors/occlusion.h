// What of one keyframe another one cannot see because something stands before it: such a sample lands on a
// wall it does not belong to, and would pull its depth towards that.
#pragma once

#include "lumen/factors/keyframe_samples.h"

namespace lumen {

// The samples that land in the target behind the depth it sees there (`seen`, as ComputeDepth gives it), by
// more than `margin` of that depth.
HiddenSamples FindHidden(const KeyframeSamples& source, const KeyframeState& source_state, const View& target,
                         const Rigid3& world_from_target, const DepthImage& seen, double margin);

}  // namespace lumen
