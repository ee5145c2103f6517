// The half of SLAM that sees every frame: tracking, keyframe creation, relocalisation. It reads snapshots of
// the map and hands keyframe requests on; a keyframe whose request is still on its way is known to it
// already, so that it never waits.
#pragma once

#include <functional>

#include "lumen/loop/place_index.h"
#include "lumen/scene/priors.h"
#include "lumen/slam/back_end.h"
#include "lumen/slam/frame_doubt.h"
#include "lumen/slam/frame_log.h"
#include "lumen/slam/keyframe_policy.h"
#include "lumen/slam/relocaliser.h"
#include "lumen/slam/video_habits.h"

namespace lumen {

struct FrameResult {
  int64_t index = 0;
  double time = 0;
  TrackResult track;
  bool is_keyframe = false;
  std::string keyframe_reason;
  int submap = 0;
  double contrast = 0;             // of the picture; see DescriptorContrast
  bool blank = false;              // too little of it
  double depth_noise = 0;          // as learned so far
  DepthDisagreement disagreement;  // of its reference
  double off_probability = -1;     // how likely it is off (frame_doubt.h); less than 0: not placed
  double network_ms = 0;           // of this frame, where they were measured
  double track_ms = 0;
  double map_ms = 0;     // of a keyframe 0 where it is mapped later, on another thread
  double delay_ms = -1;  // live: from when the picture was there; -1: nobody waits for it
};

class FrontEnd {
 public:
  using AskPlaces = std::function<std::vector<PlaceScore>(const BagOfWords&, size_t)>;
  using MakeBasis = std::function<DepthBasis()>;

  FrontEnd(const SlamOptions& options, std::shared_ptr<const Vocabulary> vocabulary, AskPlaces ask_places);

  struct Step {
    FrameResult result;
    std::optional<KeyframeRequest> request;
  };
  // One frame against the map. `make_basis` is called for keyframes only. `room`: whether the back end can
  // take a keyframe; if not, one that is wanted is put off till the next frame, and this one is placed only.
  Step Advance(const LiveFrame& live, const MapSnapshot& published, const MakeBasis& make_basis,
               bool room = true);
  // A picture that cannot be used.
  FrameResult Skip(const InputFrame& frame, const std::string& fault);

  // Goes on in an earlier map: the camera is looked for in it.
  void Restore(const MapSnapshot& map);

  const FrameLog& Frames() const { return frames_; }

 private:
  MapSnapshot Overlay(const MapSnapshot& published);
  TrackResult Place(const LiveFrame& live, const MapSnapshot& map, const BagOfWords& words);
  // Counts the time that frames with something in them could not be placed.
  bool IsOutOfPatience(const FrameResult& result);
  KeyframeVerdict Judge(const LiveFrame& live, const MapSnapshot& map, bool room, FrameResult& result);
  void Refer(KeyframeId reference);
  void Doubt(const MapSnapshot& map, FrameResult& result);
  Step Lose(Step step);
  KeyframeRequest StartMap(const LiveFrame& live, const DepthBasis& basis, BagOfWords words, Step& step);
  KeyframeRequest MakeRequest(const LiveFrame& live, const MapSnapshot& map, const TrackResult& tracked,
                              DepthBasis basis, BagOfWords words);
  // A keyframe near by that already shows what this frame does; -1 if there is none.
  KeyframeId FindCovering(const MapSnapshot& map, const TrackResult& tracked, const View& view) const;
  std::vector<KeyframeId> ChooseConnections(const LiveFrame& live, const MapSnapshot& map,
                                            const TrackResult& tracked);
  BagOfWords Describe(const Frame& frame) const;
  void Record(const FrameResult& result, KeyframeId reference, const Rigid3& reference_from_camera,
              double reference_log_scale);

  SlamOptions options_;
  std::shared_ptr<const Vocabulary> vocabulary_;
  AskPlaces ask_places_;
  Tracker tracker_;
  Relocaliser relocaliser_;
  std::vector<KeyframeRequest> pending_;  // not yet in a published snapshot
  std::vector<KeyframeId> visited_;       // references in the order they served, newest last
  FrameLog frames_;
  KeyframeId next_id_ = 0;
  KeyframeId reference_ = -1;
  int submaps_ = 0;
  VideoHabits habits_;
  LiveDoubt doubt_;
  int weak_in_a_row_ = 0;
  bool lost_ = false;
  int lost_frames_ = 0;  // usable ones
  double lost_seconds_ = 0;
  std::optional<double> last_lost_;  // when the last of them was
};

}  // namespace lumen
