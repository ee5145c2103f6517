// Mapper and LoopCloser behind one door: a keyframe goes in, a new snapshot of the map comes out. Nothing
// here knows of threads but the snapshot, which may be read while the next keyframe is worked on.
#pragma once

#include <memory>
#include <mutex>

#include "lumen/slam/keyframe_culler.h"
#include "lumen/slam/map_certainty.h"

namespace lumen {

// A new keyframe as the front end sees it: relative to its reference, whose state may change before the
// back end gets to it.
struct KeyframeRequest {
  KeyframeId id = 0;
  std::shared_ptr<const Keyframe> keyframe;
  BagOfWords words;
  int submap = 0;
  KeyframeId reference = -1;  // -1: the first of its sub-map, at its own origin
  Rigid3 reference_from_camera;
  double reference_log_scale = 0;  // at the time of the request
  double log_scale = 0;
  std::vector<KeyframeId> connections;  // besides the reference
};

// The request's state, by the present state of its reference.
KeyframeState PlaceRequest(const KeyframeRequest& request, const KeyframeState* reference);

class BackEnd {
 public:
  explicit BackEnd(const SlamOptions& options);

  void Add(const KeyframeRequest& request);
  // Takes over an earlier map, before anything was added.
  void Restore(const MapSnapshot& map, const std::map<KeyframeId, BagOfWords>& words);
  // One more mapping step if the last one left something to do. False if all is quiet.
  bool Improve();
  // Mapping and loop search after the last frame, within the paper's limits.
  void Refine();
  // A loop as given, right or wrong: for experiments and tests.
  void InjectLoop(KeyframeId query, KeyframeId reference, const PairEvidence& evidence);

  // How sure the map is of a sub-map, as it stands; on the thread that adds to it, or after.
  MapCertainty Certainty(int submap, const FrameLog& frames) const;

  // May be called from any thread.
  std::shared_ptr<const MapSnapshot> Snapshot() const;
  std::vector<LoopEvent> TakeEvents();
  MapTrouble Trouble() const;
  std::map<KeyframeId, BagOfWords> Words() const;
  // Keyframes that look like this; most similar first.
  std::vector<PlaceScore> AskPlaces(const BagOfWords& words, size_t most) const;

 private:
  void Publish();

  SlamOptions options_;
  Mapper mapper_;
  LoopCloser loops_;
  KeyframeCuller culler_;
  bool quiet_ = true;
  mutable std::mutex mutex_;  // guards what is published, and the growth of the place index
  std::shared_ptr<const MapSnapshot> snapshot_;
  std::vector<LoopEvent> events_;
  MapTrouble trouble_;
};

}  // namespace lumen
