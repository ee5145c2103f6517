#include "lumen/slam/live_frame.h"

namespace lumen {

LiveFrame MakeLiveFrame(const InputFrame& input, const std::shared_ptr<const View>& view, Priors& priors,
                        StageTimes& times) {
  LiveFrame live;
  auto frame = std::make_shared<Frame>();
  frame->index = input.index;
  frame->time = input.time;
  frame->image = input.image;
  frame->view = view;
  {
    const ScopedTimer timer(times, "feature network");
    frame->features = priors.ComputeFeatures(input);
  }
  {
    const ScopedTimer timer(times, "average depth");
    live.average_depth = priors.ComputeAverageDepth(input);
  }
  live.frame = std::move(frame);
  return live;
}

}  // namespace lumen
