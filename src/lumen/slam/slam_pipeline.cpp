#include "lumen/slam/slam_pipeline.h"

namespace lumen {

SlamPipeline::SlamPipeline(std::shared_ptr<const View> view, std::shared_ptr<const Vocabulary> vocabulary,
                           const SlamOptions& options)
    : view_(std::move(view)),
      options_(options),
      back_end_(options),
      front_end_(options, std::move(vocabulary),
                 [this](const BagOfWords& words, size_t most) { return back_end_.AskPlaces(words, most); }) {}

void SlamPipeline::Restore(const MapSnapshot& map, const std::map<KeyframeId, BagOfWords>& words) {
  back_end_.Restore(map, words);
  front_end_.Restore(map);
}

void SlamPipeline::Refine() {
  const ScopedTimer timer(times_, "refine");
  back_end_.Refine();
}

Trajectory SlamPipeline::FramePoses() const {
  const auto map = Snapshot();
  return FrameTrajectory(Frames(), *map, LargestSubmap(*map));
}

Trajectory SlamPipeline::KeyframePoses() const {
  const auto map = Snapshot();
  return KeyframeTrajectory(*map, LargestSubmap(*map));
}

}  // namespace lumen
