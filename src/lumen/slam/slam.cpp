#include "lumen/slam/slam.h"

#include "lumen/slam/live_frame.h"

namespace lumen {

Slam::Slam(std::shared_ptr<Priors> priors, std::shared_ptr<const View> view,
           std::shared_ptr<const Vocabulary> vocabulary, const SlamOptions& options)
    : SlamPipeline(std::move(view), std::move(vocabulary), options), priors_(std::move(priors)) {}

FrameResult Slam::Process(const InputFrame& input) {
  next_index_ = input.index + 1;
  // A picture nothing can be seen in is not worth the networks' time.
  const std::string fault = FindImageFault(input.image, options_.tracking);
  if (!fault.empty()) return front_end_.Skip(input, fault);

  // The networks: features to align and match by and, for frames that turn out to need it, an average depth
  // to reject outliers with.
  Stopwatch watch;
  LiveFrame live = MakeLiveFrame(input, view_, *priors_, times_);
  AskLater(live, input, *priors_, times_);
  const double network_ms = watch.ElapsedMs();

  // Camera tracking and keyframe creation, against the map as it stands.
  watch = {};
  FrontEnd::Step step = front_end_.Advance(live, *Snapshot(), [&] {
    const ScopedTimer timer(times_, "depth bases");
    return priors_->ComputeDepthBasis(input);
  });
  step.result.network_ms = network_ms;
  step.result.track_ms = watch.ElapsedMs();
  times_.Add("track", step.result.track_ms);

  // Mapping and loop closure: a new keyframe with its factors, or one more step on what is there.
  watch = {};
  if (step.request) {
    back_end_.Add(*step.request);
  } else {
    back_end_.Improve();
  }
  step.result.map_ms = watch.ElapsedMs();
  times_.Add(step.request ? "map and close loops" : "map", step.result.map_ms);
  return step.result;
}

FrameResult Slam::Process(RgbImage image, double time) {
  return Process(InputFrame{next_index_, time, std::move(image)});
}

bool Slam::Submit(InputFrame input) {
  if (Failed()) return false;
  failure_.Try([&] {
    const FrameResult result = Process(input);
    if (listener_.on_frame) listener_.on_frame(result, Frames().back());
  });
  failed_ = static_cast<bool>(failure_);
  return !failed_;
}

}  // namespace lumen
