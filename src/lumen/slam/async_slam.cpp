#include "lumen/slam/async_slam.h"

#include "lumen/slam/live_frame.h"

namespace lumen {

namespace {
constexpr size_t kAhead = 3;      // frames between two stages
constexpr size_t kKeyframes = 4;  // keyframes the back end may be behind
constexpr int kIdleSteps = 8;     // mapping steps made while no new keyframe waits
}  // namespace

AsyncSlam::AsyncSlam(std::shared_ptr<Priors> priors, std::shared_ptr<Priors> keyframe_priors,
                     std::shared_ptr<const View> view, std::shared_ptr<const Vocabulary> vocabulary,
                     const SlamOptions& options, OnResult on_result)
    : priors_(std::move(priors)),
      keyframe_priors_(std::move(keyframe_priors)),
      view_(std::move(view)),
      options_(options),
      on_result_(std::move(on_result)),
      back_end_(options),
      front_end_(options, std::move(vocabulary),
                 [this](const BagOfWords& words, size_t most) { return back_end_.AskPlaces(words, most); }) {
  mapping_ = std::make_unique<Worker<KeyframeRequest>>(
      kKeyframes, [this](const KeyframeRequest& request) { Map(request); });
  tracking_ = std::make_unique<Worker<std::shared_ptr<Prepared>>>(
      kAhead, [this](const std::shared_ptr<Prepared>& prepared) { Track(*prepared); });
  networks_ = std::make_unique<Worker<InputFrame>>(
      kAhead, [this](InputFrame input) { RunNetworks(std::move(input)); });
}

AsyncSlam::~AsyncSlam() {
  // Front to back, so that no stage hands on to one that is gone; and joined before the pointer goes, since
  // a stage may still look at its own queue.
  const auto end = [](auto& worker) {
    try {
      worker->Finish();
    } catch (...) {  // NOLINT(bugprone-empty-catch): whoever wanted to know has called Finish
    }
    worker.reset();
  };
  end(networks_);
  end(tracking_);
  end(mapping_);
}

bool AsyncSlam::Submit(InputFrame input) { return networks_->Submit(std::move(input)); }
bool AsyncSlam::TrySubmit(InputFrame input) { return networks_->TrySubmit(std::move(input)); }

void AsyncSlam::Finish() {
  networks_->Finish();
  tracking_->Finish();
  mapping_->Finish();
}

void AsyncSlam::RunNetworks(InputFrame input) {
  auto prepared = std::make_shared<Prepared>();
  prepared->fault = FindImageFault(input.image, options_.tracking);
  const Stopwatch watch;
  if (prepared->fault.empty()) prepared->live = MakeLiveFrame(input, view_, *priors_, times_);
  prepared->network_ms = watch.ElapsedMs();
  prepared->input = std::move(input);
  tracking_->Submit(std::move(prepared));
}

void AsyncSlam::Track(const Prepared& prepared) {
  FrontEnd::Step step;
  if (!prepared.fault.empty()) {
    step.result = front_end_.Skip(prepared.input, prepared.fault);
  } else {
    const Stopwatch watch;
    step = front_end_.Advance(prepared.live, *Snapshot(), [&] {
      const ScopedTimer timer(times_, "depth bases");
      return keyframe_priors_->ComputeDepthBasis(prepared.input);
    });
    step.result.track_ms = watch.ElapsedMs();
    times_.Add("track", step.result.track_ms);
  }
  step.result.network_ms = prepared.network_ms;
  if (step.request) mapping_->Submit(std::move(*step.request));
  if (on_result_) on_result_(step.result, front_end_.Frames().back());
}

void AsyncSlam::Map(const KeyframeRequest& request) {
  {
    const ScopedTimer timer(times_, "map and close loops");
    back_end_.Add(request);
  }
  for (int i = 0; i < kIdleSteps && mapping_->Pending() == 0; ++i) {
    const ScopedTimer timer(times_, "map");
    if (!back_end_.Improve()) break;
  }
}

}  // namespace lumen
