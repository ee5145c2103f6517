// From a picture to a frame the front end can work with: what the networks do for every frame.
#pragma once

#include "lumen/base/timer.h"
#include "lumen/scene/priors.h"
#include "lumen/slam/tracker.h"

namespace lumen {

LiveFrame MakeLiveFrame(const InputFrame& input, const std::shared_ptr<const View>& view, Priors& priors,
                        StageTimes& times);
// Who computes the average depth, should it be needed and not be there; `input` must outlive that.
void AskLater(LiveFrame& live, const InputFrame& input, Priors& priors, StageTimes& times);

}  // namespace lumen
