// Simulated videos with perfect priors, for the tests of this room: SLAM without any weights. A frame is
// known to the priors by its number, so a video may show a path's frames in any order, or black ones.
#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "lumen/geometry/alignment.h"
#include "lumen/sim/perfect_prior.h"
#include "lumen/sim/sim_test_scene.h"
#include "lumen/sim/suite.h"
#include "lumen/slam/slam.h"

namespace lumen {

class PerfectVideo {
 public:
  explicit PerfectVideo(SequenceOptions options) {
    options.width = 160;
    options.height = 128;
    const auto anatomy = SharedAnatomy(options.anatomy, options.seed);
    sequence_ = std::make_shared<const SimulatedSequence>(anatomy, options);
    view_ = MakeView(sequence_->View(), sequence_->ContentMask());
  }
  // Made once a process: many cases look at the same one.
  static const PerfectVideo& OfSubject(int subject, int frames, PathKind kind = PathKind::kInsertionRetreat) {
    static std::map<std::tuple<int, int, PathKind>, PerfectVideo> made;
    const auto key = std::tuple(subject, frames, kind);
    if (const auto found = made.find(key); found != made.end()) return found->second;
    SequenceOptions options = MakeSuiteOptions(kBenchmarkSuite.at(static_cast<size_t>(subject)));
    options.path.frames = frames;
    options.path.kind = kind;
    return made.emplace(key, PerfectVideo(options)).first->second;
  }

  int Size() const { return sequence_->Size(); }
  const std::shared_ptr<const View>& GetView() const { return view_; }
  std::shared_ptr<PerfectPriors> MakePriors() const { return std::make_shared<PerfectPriors>(sequence_); }
  const SimulatedSequence& Sequence() const { return *sequence_; }

  // Perfect priors do not look at the picture, which is a chequered one; a black one is black for SLAM.
  InputFrame Frame(int index, bool black = false) const {
    RgbImage image(160, 128, 3);
    for (int y = 0; y < image.Height() && !black; ++y) {
      for (int x = 0; x < image.Width(); ++x)
        std::fill_n(image.Pixel(x, y), 3, static_cast<uint8_t>((x / 6 + y / 6) % 2 == 0 ? 110 : 140));
    }
    return {index, sequence_->Time(index), std::move(image)};
  }
  std::shared_ptr<const Keyframe> MakeKeyframe(int index) const {
    const auto priors = MakePriors();
    const InputFrame input = Frame(index);
    auto frame = std::make_shared<lumen::Frame>();
    frame->index = index;
    frame->time = input.time;
    frame->image = input.image;
    frame->view = view_;
    frame->features = priors->ComputeFeatures(input);
    return std::make_shared<const Keyframe>(Keyframe{PackFrame(frame), priors->ComputeDepthBasis(input)});
  }
  std::shared_ptr<const Vocabulary> MakeVocabulary() const {
    std::vector<std::vector<float>> images;
    const auto priors = MakePriors();
    for (int i = 0; i < Size(); i += 10)
      images.push_back(CollectDescriptors(priors->ComputeFeatures(Frame(i)).descriptors, view_->eroded_mask));
    return std::make_shared<Vocabulary>(
        Vocabulary::Train(images, PerfectPriors::kChannels, {.branching = 8, .depth = 3, .iterations = 5}));
  }

  struct Error {
    double rmse = 1e9;   // mm
    double share = 1e9;  // of the path
    int placed = 0;
  };
  // Of the frames of the largest map, after similarity alignment.
  Error Grade(const FrameLog& frames, const MapSnapshot& map) const {
    std::vector<Eigen::Vector3d> estimate, truth;
    const int submap = LargestSubmap(map);
    for (const PlacedFrame& frame : frames) {
      const auto pose = LocateFrame(frame, map);
      if (!pose || map.keyframes.at(frame.reference).submap != submap) continue;
      estimate.push_back(pose->Translation());
      truth.push_back(sequence_->Pose(static_cast<int>(frame.index)).Translation());
    }
    Error error;
    error.placed = static_cast<int>(estimate.size());
    const auto alignment = EstimateAlignment(estimate, truth);
    if (!alignment) return error;
    double sum = 0;
    for (size_t i = 0; i < estimate.size(); ++i) sum += (*alignment * estimate[i] - truth[i]).squaredNorm();
    error.rmse = std::sqrt(sum / static_cast<double>(estimate.size()));
    error.share = error.rmse / PathLength(sequence_->GroundTruth());
    return error;
  }
  Error Grade(const Slam& slam) const { return Grade(slam.Frames(), *slam.Snapshot()); }

 private:
  std::shared_ptr<const SimulatedSequence> sequence_;
  std::shared_ptr<const View> view_;
};

}  // namespace lumen
