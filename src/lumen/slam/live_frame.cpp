#include "lumen/slam/live_frame.h"

namespace lumen {

LiveFrame MakeLiveFrame(const InputFrame& input, const std::shared_ptr<const View>& view, Priors& priors,
                        StageTimes& times) {
  LiveFrame live;
  auto frame = std::make_shared<Frame>();
  frame->index = input.index;
  frame->time = input.time;
  frame->image = input.image;
  live.fine = input.fine;
  frame->view = view;
  const ScopedTimer timer(times, "feature network");
  Priors::LiveMaps maps = priors.ComputeLive(input);
  frame->features = std::move(maps.features);
  live.average_depth = std::move(maps.average_depth);
  live.frame = std::move(frame);
  return live;
}

void AskLater(LiveFrame& live, const InputFrame& input, Priors& priors, StageTimes& times) {
  live.make_average_depth = [&] {
    const ScopedTimer timer(times, "average depth");
    return priors.ComputeAverageDepth(input);
  };
}

}  // namespace lumen
