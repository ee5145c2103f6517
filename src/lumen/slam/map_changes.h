// Changes of the map as a whole, each one transaction: a loop is closed (connected where the map agrees with
// it already, balanced within a map, or joining two maps), and taken out again if it proves false. Each
// remembers its way back, and every later change carries those ways along.
#pragma once

#include <set>

#include "lumen/slam/mapper.h"

namespace lumen {

struct LoopPair {
  KeyframeId query = 0;
  KeyframeId reference = 0;
  friend bool operator==(const LoopPair&, const LoopPair&) = default;
};

// The goal in the unit that the reference has now; another loop may have changed it since the goal was
// measured.
RelativePoseScaleGoal InPresentUnit(RelativePoseScaleGoal goal, const KeyframeState& reference);

enum class LoopClosing { kConnected, kBalanced, kJoined, kRefused };

struct ClosedLoop {
  LoopClosing how = LoopClosing::kRefused;
  std::string reason;     // in words, where it was refused
  bool doubtful = false;  // the smoother could not follow it: worth a second look
};

class MapChanges {
 public:
  MapChanges(const PoseScaleOptions& options, Mapper& mapper) : options_(options), mapper_(mapper) {}

  ClosedLoop Close(const LoopPair& loop, const RelativePoseScaleGoal& measured);
  // Undoes a loop closed here and not forgotten; a map that was joined by it is one of its own again. Returns
  // all loops that went, for those that bridge the cut go with it.
  std::vector<MapEdge> TakeOut(const LoopPair& loop);
  // The loop has proved itself: its way back is not needed any more.
  void Forget(const LoopPair& loop);
  // A keyframe that has retired moves with its host.
  void Drop(KeyframeId retired);

 private:
  using States = std::map<KeyframeId, KeyframeState>;
  struct WayBack {
    LoopPair loop;
    States before = {};  // of all keyframes the loop moved; empty if it moved none
    bool joined = false;
    std::set<KeyframeId> joined_to = {};  // the first keyframes of the maps on the other side
  };

  bool Agrees(const LoopPair& loop, const RelativePoseScaleGoal& goal) const;
  ClosedLoop Join(const LoopPair& loop, const RelativePoseScaleGoal& goal);
  ClosedLoop Balance(const LoopPair& loop, const RelativePoseScaleGoal& goal);
  ClosedLoop Commit(LoopClosing how, MapChange change, WayBack way);
  SmootherSummary Apply(const MapChange& change);

  // Within a map: back to where everything was, about the map's anchor.
  void Unbalance(const WayBack& way);
  // Between two: no edge bridges the cut afterwards. Returns the edges that went.
  std::vector<MapEdge> Part(const WayBack& way);
  std::set<KeyframeId> JoinedSide(const WayBack& way) const;
  // Each keyframe's first ancestor: the keyframe its map began with.
  std::map<KeyframeId, KeyframeId> Origins() const;
  void Follow(const std::set<KeyframeId>& part, States& moves) const;
  // Sub-maps for what hangs together no longer.
  void NameParts(int submap, MapChange& change) const;
  WayBack TakeWayBack(const LoopPair& loop);

  PoseScaleOptions options_;
  Mapper& mapper_;
  std::vector<WayBack> ways_back_;  // oldest first
};

}  // namespace lumen
