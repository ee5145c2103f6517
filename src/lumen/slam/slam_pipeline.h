// What Slam and AsyncSlam have in common: frames go in, each is told of when it has found its place, and the
// map can be read at any time. Who takes a video through SLAM needs to know no more.
//
//   slam.Listen({.on_frame = [&](const FrameResult& result, const PlacedFrame& placed) { … }});
//   while (auto frame = stream.Next()) if (!slam.Submit(std::move(*frame))) break;
//   slam.Finish();  // throws what stopped it, if anything did
#pragma once

#include "lumen/base/timer.h"
#include "lumen/slam/front_end.h"

namespace lumen {

struct SlamListener {
  // Frame by frame in order, on the thread that tracks.
  std::function<void(const FrameResult&, const PlacedFrame&)> on_frame = nullptr;
  // Where mapping works behind, on its own thread: how long it took over the keyframe of this frame. Mostly
  // after that frame's on_frame, but not always.
  std::function<void(int64_t frame, double ms)> on_mapped = nullptr;
};

class SlamPipeline {
 public:
  virtual ~SlamPipeline() = default;
  SlamPipeline(const SlamPipeline&) = delete;
  SlamPipeline& operator=(const SlamPipeline&) = delete;

  // Before the first frame. What a listener throws stops the pipeline as a fault of its own would.
  virtual void Listen(SlamListener listener) { listener_ = std::move(listener); }
  // An earlier map to find oneself in and to extend; before the first frame.
  void Restore(const MapSnapshot& map, const std::map<KeyframeId, BagOfWords>& words);

  // Waits while the pipeline is full. False: not taken, since something has failed; Finish says what.
  virtual bool Submit(InputFrame input) = 0;
  // Does not wait: false, and the frame is dropped, also where the pipeline is full.
  virtual bool TrySubmit(InputFrame input) = 0;
  virtual bool Failed() const = 0;
  // Waits until all that was submitted is through; throws what failed on the way. Nothing may be submitted
  // afterwards.
  virtual void Finish() = 0;
  // Goes on mapping and searching for loops after the last frame.
  void Refine();

  // The map as it is now; immutable.
  std::shared_ptr<const MapSnapshot> Snapshot() const { return back_end_.Snapshot(); }
  std::map<KeyframeId, BagOfWords> Words() const { return back_end_.Words(); }
  std::vector<LoopEvent> TakeLoopEvents() { return back_end_.TakeEvents(); }
  const StageTimes& Times() const { return times_; }
  MapTrouble Trouble() const { return back_end_.Trouble(); }
  // Every frame so far, in order; those that could not be placed have no reference. With threads: after
  // Finish, as the two below.
  const FrameLog& Frames() const { return front_end_.Frames(); }
  // Of the largest connected map, by the present state.
  Trajectory FramePoses() const;
  Trajectory KeyframePoses() const;
  // How sure the map is of a sub-map's keyframes, and of one of its frames; after Finish.
  MapCertainty Certainty(int submap) const { return back_end_.Certainty(submap, Frames()); }
  // How likely each frame is off by what the map knows now (frame_doubt.h), in the frames' order.
  std::vector<double> Doubts(const MapCertainty& certainty) const {
    return DoubtFrames(Frames(), *Snapshot(), certainty, options_.certainty);
  }
  const CertaintyOptions& CertaintyModel() const { return options_.certainty; }

 protected:
  SlamPipeline(std::shared_ptr<const View> view, std::shared_ptr<const Vocabulary> vocabulary,
               const SlamOptions& options);

  std::shared_ptr<const View> view_;
  SlamOptions options_;
  SlamListener listener_;
  StageTimes times_;
  BackEnd back_end_;
  FrontEnd front_end_;
};

}  // namespace lumen
