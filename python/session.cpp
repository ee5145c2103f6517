#include "session.h"

#include "lumen/base/error.h"
#include "lumen/network/torch_backend.h"
#include "lumen/slam/async_slam.h"
#include "lumen/slam/slam.h"

namespace lumen {

std::unique_ptr<FrameMaker> MakeFrames(const Camera& camera, const std::optional<Mask>& mask,
                                       RectifierOptions view, const Model& model) {
  if (mask && (mask->Width() != camera.Width() || mask->Height() != camera.Height()))
    throw InputError(StrCat("the mask is ", mask->Width(), "x", mask->Height(),
                            ", the camera's pictures are ", camera.Width(), "x", camera.Height()));
  view.width = model.depth.input_width;
  view.height = model.depth.input_height;
  return std::make_unique<FrameMaker>(camera, mask ? *mask : Mask(camera.Width(), camera.Height(), 1, 255),
                                      view);
}

Session::Session(const InputStream& stream, const SessionOptions& options)
    : options_(options), trained_(LoadTrained(options.model, options.vocabulary)) {
  const Camera& camera = stream.GetCamera();
  if (camera.Width() != trained_.model.depth.input_width ||
      camera.Height() != trained_.model.depth.input_height)
    throw InputError("the input was opened for a model of another size: open it with model=");
  Begin(camera, stream.GetMask());
}

Session::Session(const Camera& camera, const std::optional<Mask>& mask, const SessionOptions& options)
    : options_(options), trained_(LoadTrained(options.model, options.vocabulary)) {
  maker_ = MakeFrames(camera, mask, options_.config.view, trained_.model);
  Begin(maker_->GetCamera(), maker_->GetMask());
}

void Session::Begin(const Camera& camera, const Mask& mask) {
  view_ = MakeView(camera, mask);
  const auto make_priors = [&]() -> std::shared_ptr<Priors> {
    return MakePriors(trained_.model, LensView(camera, mask), options_.config.engine, options_.device);
  };
  if (!options_.live) {
    auto slam = std::make_unique<Slam>(make_priors(), view_, trained_.vocabulary, options_.config.slam);
    stepwise_ = slam.get();
    slam_ = std::move(slam);
    return;
  }
  slam_ = std::make_unique<AsyncSlam>(make_priors(), make_priors(), view_, trained_.vocabulary,
                                      options_.config.slam);
  SlamListener listener;
  listener.on_frame = [this](const FrameResult& result, const PlacedFrame&) {
    const std::lock_guard lock(mutex_);
    results_.push_back(result);
  };
  slam_->Listen(std::move(listener));
}

void Session::RequireOpen(bool live) const {
  if (finished_) throw InputError("finish() was called: no frame can follow it");
  if (live != options_.live)
    throw InputError(live ? "submit() is for Slam(…, live=True); this one has process()"
                          : "process() waits for its answer; with live=True there is submit()");
}

const FrameMaker& Session::Maker() const {
  if (!maker_) throw InputError("this Slam was made for an input: give it the input's frames, not pictures");
  return *maker_;
}

FrameResult Session::Process(const InputFrame& frame) {
  const std::lock_guard lock(calls_);
  RequireOpen(false);
  if (!(frame.time > last_time_)) throw InputError("frames must come in order of time");
  last_time_ = frame.time;
  return stepwise_->Process(frame);
}

bool Session::Submit(InputFrame frame) {
  const std::lock_guard lock(calls_);
  RequireOpen(true);
  if (!(frame.time > last_time_)) throw InputError("frames must come in order of time");
  last_time_ = frame.time;
  if (slam_->TrySubmit(std::move(frame))) return true;
  if (slam_->Failed()) {
    finished_ = true;
    slam_->Finish();  // throws what failed
  }
  return false;
}

std::vector<FrameResult> Session::TakeResults() {
  const std::lock_guard lock(mutex_);
  return std::exchange(results_, {});
}

void Session::Finish(bool refine) {
  const std::lock_guard lock(calls_);
  if (finished_) return;
  finished_ = true;
  slam_->Finish();
  if (refine) slam_->Refine();
}

Trajectory Session::FramePoses() const {
  const std::lock_guard lock(calls_);
  if (options_.live && !finished_) throw InputError("the path of a live Slam is there after finish()");
  return slam_->FramePoses();
}

}  // namespace lumen
