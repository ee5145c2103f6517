// SLAM as a Python program drives it: frames one by one, each answered, or handed over to threads and asked
// for later. Knows no Python.
#pragma once

#include <limits>
#include <mutex>

#include "lumen/apps/run_setup.h"
#include "lumen/io/frame_maker.h"

namespace lumen {

struct SessionOptions {
  std::filesystem::path model, vocabulary;  // empty: the usual ones
  std::string device = "auto";
  AppConfig config;
  bool live = false;  // threads: Submit and TakeResults instead of Process
};

// Pictures of a camera for a model's networks. Throws InputError for a mask of another size.
std::unique_ptr<FrameMaker> MakeFrames(const Camera& camera, const std::optional<Mask>& mask,
                                       RectifierOptions view, const Model& model);

class Session {
 public:
  // Its frames.
  Session(const InputStream& stream, const SessionOptions& options);
  // Pictures of a camera as they come.
  Session(const Camera& camera, const std::optional<Mask>& mask, const SessionOptions& options);

  const FrameMaker& Maker() const;  // throws InputError where it was made for an input's frames
  FrameResult Process(const InputFrame& frame);
  // False: dropped, since the pipeline is full.
  bool Submit(InputFrame frame);
  std::vector<FrameResult> TakeResults();
  // No frame after it. `refine`: goes on mapping for a while.
  void Finish(bool refine);
  bool Finished() const { return finished_; }
  int64_t NextIndex() { return next_index_++; }

  std::shared_ptr<const MapSnapshot> Snapshot() const { return slam_->Snapshot(); }
  // Live: after Finish.
  Trajectory FramePoses() const;
  const AppConfig& Config() const { return options_.config; }
  const View& GetView() const { return *view_; }

 private:
  void Begin(const Camera& camera, const Mask& mask);
  void RequireOpen(bool live) const;

  SessionOptions options_;
  Trained trained_;
  std::unique_ptr<FrameMaker> maker_;
  std::shared_ptr<const View> view_;
  std::mutex mutex_;
  std::vector<FrameResult> results_;  // what slam_'s threads tell
  std::unique_ptr<SlamPipeline> slam_;
  mutable std::mutex
      calls_;  // Python's threads may call at once; whoever waits for it must not hold Python's lock
  class Slam* stepwise_ = nullptr;  // slam_, where it is not live
  bool finished_ = false;
  int64_t next_index_ = 0;
  double last_time_ = -std::numeric_limits<double>::infinity();
};

}  // namespace lumen
