#include "lumen/slam/live_frame.h"

#include "lumen/base/parallel.h"

namespace lumen {

LiveFrame MakeLiveFrame(const InputFrame& input, const std::shared_ptr<const View>& view, Priors& priors,
                        StageTimes& times, int threads) {
  LiveFrame live;
  auto frame = std::make_shared<Frame>();
  frame->index = input.index;
  frame->time = input.time;
  frame->image = input.image;
  live.fine = input.fine;
  frame->view = view;
  ParallelFor(2, priors.BothAtOnce() ? threads : 1, [&](int64_t which) {
    const ScopedTimer timer(times, which == 0 ? "feature network" : "average depth");
    if (which == 0) {
      frame->features = priors.ComputeFeatures(input);
    } else {
      live.average_depth = priors.ComputeAverageDepth(input);
    }
  });
  live.frame = std::move(frame);
  return live;
}

}  // namespace lumen
