// From a picture to a frame the front end can work with: what the networks do for every frame.
#pragma once

#include "lumen/base/timer.h"
#include "lumen/scene/priors.h"
#include "lumen/slam/tracker.h"

namespace lumen {

LiveFrame MakeLiveFrame(const InputFrame& input, const std::shared_ptr<const View>& view, Priors& priors,
                        StageTimes& times);

}  // namespace lumen
