// Dense monocular SLAM: pictures in, the camera's path and a map of keyframes with dense depth out.
//
//   Slam slam(priors, MakeView(camera, mask), vocabulary);
//   while (auto frame = stream.Next()) slam.Process(*frame);
//   slam.Refine();
//   SaveTum(path, slam.FramePoses());
//
// This is the undressed pipeline: one frame after the other, the same result bit for bit for the same
// input. AsyncSlam is the same with threads.
#pragma once

#include "lumen/base/timer.h"
#include "lumen/slam/front_end.h"

namespace lumen {

class Slam {
 public:
  // `view` is what all frames share: camera and mask at the features' size. Without a vocabulary there are
  // no global loops, and a lost camera is looked for near its last place only.
  Slam(std::shared_ptr<Priors> priors, std::shared_ptr<const View> view,
       std::shared_ptr<const Vocabulary> vocabulary = nullptr, const SlamOptions& options = {});

  // Where is this frame? Frames come in order of time.
  FrameResult Process(const InputFrame& input);
  FrameResult Process(RgbImage image, double time);
  // Goes on mapping and searching for loops after the last frame.
  void Refine();

  // The map as it is now; immutable.
  std::shared_ptr<const MapSnapshot> Snapshot() const { return back_end_.Snapshot(); }
  // Every frame so far, in order; those that could not be placed have no reference.
  const std::vector<PlacedFrame>& Frames() const { return front_end_.Frames(); }
  // Of the largest connected map, by the present state.
  Trajectory FramePoses() const;
  Trajectory KeyframePoses() const;

  // An earlier map to find oneself in and to extend; before the first frame.
  void Restore(const MapSnapshot& map, const std::map<KeyframeId, BagOfWords>& words) {
    back_end_.Restore(map, words);
    front_end_.Restore(map);
  }
  std::map<KeyframeId, BagOfWords> Words() const { return back_end_.Words(); }
  std::vector<LoopEvent> TakeLoopEvents() { return back_end_.TakeEvents(); }
  const StageTimes& Times() const { return times_; }
  BackEnd& GetBackEnd() { return back_end_; }

 private:
  std::shared_ptr<Priors> priors_;
  std::shared_ptr<const View> view_;
  SlamOptions options_;
  BackEnd back_end_;
  FrontEnd front_end_;
  int64_t next_index_ = 0;
  StageTimes times_;
};

}  // namespace lumen
