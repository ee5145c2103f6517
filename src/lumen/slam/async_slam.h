// The same pipeline as Slam, dressed in threads: the networks run ahead on one, tracking follows on another,
// mapping and loop closure work behind on a third. A slow back end delays no frame; a slow front end makes
// Submit wait (a recording) or TrySubmit drop (a live camera).
#pragma once

#include "lumen/base/worker.h"
#include "lumen/slam/slam.h"

namespace lumen {

class AsyncSlam {
 public:
  // Called on the tracking thread, frame by frame in order.
  using OnResult = std::function<void(const FrameResult&, const PlacedFrame&)>;

  // `keyframe_priors` serves the tracking thread, `priors` the networks' thread: two objects of the same
  // model, since neither may be used from two threads at once.
  AsyncSlam(std::shared_ptr<Priors> priors, std::shared_ptr<Priors> keyframe_priors,
            std::shared_ptr<const View> view, std::shared_ptr<const Vocabulary> vocabulary,
            const SlamOptions& options, OnResult on_result = nullptr);
  ~AsyncSlam();

  bool Submit(InputFrame input);
  // False, and the frame is dropped, where the pipeline is full.
  bool TrySubmit(InputFrame input);
  // Waits until all that was submitted is through; rethrows what failed on the way. Nothing may be
  // submitted afterwards.
  void Finish();
  void Refine() { back_end_.Refine(); }  // after Finish

  std::shared_ptr<const MapSnapshot> Snapshot() const { return back_end_.Snapshot(); }
  const std::vector<PlacedFrame>& Frames() const { return front_end_.Frames(); }  // after Finish
  // An earlier map to find oneself in and to extend; before the first frame.
  void Restore(const MapSnapshot& map, const std::map<KeyframeId, BagOfWords>& words) {
    back_end_.Restore(map, words);
    front_end_.Restore(map);
  }
  std::map<KeyframeId, BagOfWords> Words() const { return back_end_.Words(); }
  std::vector<LoopEvent> TakeLoopEvents() { return back_end_.TakeEvents(); }
  const StageTimes& Times() const { return times_; }

 private:
  struct Prepared {
    InputFrame input;
    std::string fault;
    LiveFrame live;
    double network_ms = 0;
  };
  void RunNetworks(InputFrame input);
  void Track(const Prepared& prepared);
  void Map(const KeyframeRequest& request);

  std::shared_ptr<Priors> priors_;
  std::shared_ptr<Priors> keyframe_priors_;
  std::shared_ptr<const View> view_;
  SlamOptions options_;
  OnResult on_result_;
  StageTimes times_;
  BackEnd back_end_;
  FrontEnd front_end_;
  // In the order in which they are stopped, last first.
  std::unique_ptr<Worker<KeyframeRequest>> mapping_;
  std::unique_ptr<Worker<std::shared_ptr<Prepared>>> tracking_;
  std::unique_ptr<Worker<InputFrame>> networks_;
};

}  // namespace lumen
