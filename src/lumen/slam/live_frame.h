// From a picture to a frame the front end can work with: what the networks do for every frame.
#pragma once

#include "lumen/base/timer.h"
#include "lumen/scene/priors.h"
#include "lumen/slam/tracker.h"

namespace lumen {

// With two threads the two networks run side by side, where they can.
LiveFrame MakeLiveFrame(const InputFrame& input, const std::shared_ptr<const View>& view, Priors& priors,
                        StageTimes& times, int threads = 1);

}  // namespace lumen
