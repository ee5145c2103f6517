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

#include <atomic>

#include "lumen/base/first_failure.h"
#include "lumen/slam/slam_pipeline.h"

namespace lumen {

class Slam : public SlamPipeline {
 public:
  // `view` is what all frames share: camera and mask at the features' size. Without a vocabulary there are
  // no global loops, and a lost camera is looked for near its last place only.
  Slam(std::shared_ptr<Priors> priors, std::shared_ptr<const View> view,
       std::shared_ptr<const Vocabulary> vocabulary = nullptr, const SlamOptions& options = {});

  // Where is this frame? Frames come in order of time.
  FrameResult Process(const InputFrame& input);
  FrameResult Process(RgbImage image, double time);

  // The same for who listens instead of asking: what Process throws comes out of Finish.
  bool Submit(InputFrame input) override;
  bool TrySubmit(InputFrame input) override { return Submit(std::move(input)); }
  bool Failed() const override { return failed_; }  // from any thread
  void Finish() override { failure_.Rethrow(); }

  BackEnd& GetBackEnd() { return back_end_; }

 private:
  std::shared_ptr<Priors> priors_;
  int64_t next_index_ = 0;
  FirstFailure failure_;
  std::atomic<bool> failed_ = false;
};

}  // namespace lumen
