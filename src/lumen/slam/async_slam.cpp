#include "lumen/slam/async_slam.h"

#include "lumen/base/first_failure.h"
#include "lumen/base/step_back.h"
#include "lumen/slam/live_frame.h"

namespace lumen {

namespace {
constexpr size_t kAhead = 3;   // frames between two stages
constexpr int kIdleSteps = 8;  // mapping steps made while no new keyframe waits
}  // namespace

AsyncSlam::AsyncSlam(std::shared_ptr<Priors> priors, std::shared_ptr<Priors> keyframe_priors,
                     std::shared_ptr<const View> view, std::shared_ptr<const Vocabulary> vocabulary,
                     const SlamOptions& options)
    : SlamPipeline(std::move(view), std::move(vocabulary), options),
      priors_(std::move(priors)),
      keyframe_priors_(std::move(keyframe_priors)) {
  mapping_ = std::make_unique<Worker<KeyframeRequest>>(
      kKeyframesBehind, [this](const KeyframeRequest& request) { Map(request); },
      [this] {
        tracking_->Abandon();
        networks_->Abandon();
      });
  tracking_ = std::make_unique<Worker<std::shared_ptr<Prepared>>>(
      kAhead, [this](const std::shared_ptr<Prepared>& prepared) { Track(*prepared); },
      [this] { networks_->Abandon(); });
  networks_ = std::make_unique<Worker<InputFrame>>(
      kAhead, [this](InputFrame input) { RunNetworks(std::move(input)); });
}

AsyncSlam::~AsyncSlam() {
  try {
    AsyncSlam::Finish();
  } catch (...) {  // NOLINT(bugprone-empty-catch): whoever wanted to know has called Finish
  }
}

bool AsyncSlam::Submit(InputFrame input) { return networks_->Submit(std::move(input)); }
bool AsyncSlam::TrySubmit(InputFrame input) { return networks_->TrySubmit(std::move(input)); }
bool AsyncSlam::Failed() const { return networks_->Failed() || tracking_->Failed() || mapping_->Failed(); }

void AsyncSlam::Finish() {
  // Front to back, so that no stage hands on to one that has ended; and all of them, whatever failed, since
  // what was tracked before is still to be mapped and no thread may run on.
  FirstFailure failure;
  failure.Try([&] { networks_->Finish(); });
  failure.Try([&] { tracking_->Finish(); });
  failure.Try([&] { mapping_->Finish(); });
  failure.Rethrow();
}

void AsyncSlam::RunNetworks(InputFrame input) {
  // They would take all the time there is, while the camera's place and the map wait for their share.
  thread_local const bool steps_back = (StepBack(), true);
  static_cast<void>(steps_back);
  auto prepared = std::make_shared<Prepared>();
  prepared->fault = FindImageFault(input.image, options_.tracking);
  const Stopwatch watch;
  if (prepared->fault.empty()) prepared->live = MakeLiveFrame(input, view_, *priors_, times_);
  prepared->network_ms = watch.ElapsedMs();
  prepared->input = std::move(input);
  tracking_->Submit(std::move(prepared));  // refused only once tracking has stopped this stage too
}

void AsyncSlam::Track(Prepared& prepared) {
  FrontEnd::Step step;
  if (!prepared.fault.empty()) {
    step.result = front_end_.Skip(prepared.input, prepared.fault);
  } else {
    const Stopwatch watch;
    AskLater(prepared.live, prepared.input, *keyframe_priors_, times_);
    const auto make_basis = [&] {
      const ScopedTimer timer(times_, "depth bases");
      return keyframe_priors_->ComputeDepthBasis(prepared.input);
    };
    step = front_end_.Advance(prepared.live, *Snapshot(), make_basis, mapping_->HasRoom());
    step.result.track_ms = watch.ElapsedMs();
    times_.Add("track", step.result.track_ms);
  }
  step.result.network_ms = prepared.network_ms;
  if (step.request) mapping_->Submit(std::move(*step.request));  // there is room: nobody else submits
  if (listener_.on_frame) listener_.on_frame(step.result, Frames().back());
}

void AsyncSlam::Map(const KeyframeRequest& request) {
  const Stopwatch watch;
  back_end_.Add(request);
  const double ms = watch.ElapsedMs();
  times_.Add("map and close loops", ms);
  if (listener_.on_mapped) listener_.on_mapped(request.keyframe->frame->index, ms);
  for (int i = 0; i < kIdleSteps && mapping_->Pending() == 0; ++i) {
    const ScopedTimer timer(times_, "map");
    if (!back_end_.Improve()) break;
  }
}

}  // namespace lumen
