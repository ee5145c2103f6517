// The only writer of graph and map: keyframes with their priors, connections with FM and GC both ways, kept
// solved by the incremental smoother.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "lumen/loop/loop_verifier.h"
#include "lumen/slam/slam_options.h"

namespace lumen {

class Mapper {
 public:
  explicit Mapper(const MappingOptions& options, int threads = 1);

  // The first keyframe of a (sub-)map, held in place and scale by PS and SC.
  void Start(KeyframeId id, std::shared_ptr<const Keyframe> keyframe, KeyframeState state, int submap);
  // A further one; it has to be connected before the next update.
  void Add(KeyframeId id, std::shared_ptr<const Keyframe> keyframe, KeyframeState state, int submap);
  void Connect(KeyframeId a, KeyframeId b, EdgeKind kind);
  void Disconnect(KeyframeId a, KeyframeId b);
  bool Connected(KeyframeId a, KeyframeId b) const { return edges_.contains(Ordered(a, b)); }
  // Puts keyframes elsewhere, as after a loop closure; codes stay.
  void Move(const std::map<KeyframeId, PoseScale>& keyframes);
  // Makes one sub-map part of another (which has been moved to fit), or a part one of its own again.
  void Merge(int submap, int into);
  void Split(const std::set<KeyframeId>& keyframes, int submap, KeyframeId anchor);

  // One step of the smoother, with all that was changed since the last.
  SmootherSummary Update();
  // Steps until `settled` in a row relinearised nothing, `most` at most. Returns how many.
  int Settle(int most, int settled);

  bool Contains(KeyframeId id) const { return keyframes_.contains(id); }
  size_t Size() const { return keyframes_.size(); }
  const MapKeyframe& At(KeyframeId id) const { return keyframes_.at(id).entry; }
  LoopSide Side(KeyframeId id) const;
  KeyframeId AnchorOf(int submap) const { return anchors_.at(submap).id; }
  std::vector<MapEdge> Edges() const;
  std::vector<KeyframeId> Neighbours(KeyframeId id) const;
  std::vector<KeyframeId> KeyframesOf(int submap) const;
  std::shared_ptr<const MapSnapshot> MakeSnapshot();

 private:
  struct Entry {
    MapKeyframe entry;
    std::shared_ptr<const KeyframeSamples> samples, few_samples;  // for FM, for GC
    std::vector<KeyframeId> neighbours;
  };
  struct Edge {
    EdgeKind kind = EdgeKind::kTemporal;
    std::vector<FactorId> factors;  // empty until the next update
  };
  struct Anchor {
    KeyframeId id = -1;
    std::vector<FactorId> factors;
  };
  using Pair = std::pair<KeyframeId, KeyframeId>;
  static Pair Ordered(KeyframeId a, KeyframeId b) { return a < b ? Pair{a, b} : Pair{b, a}; }

  void HoldInPlace(int submap, KeyframeId id);
  void AddDirection(KeyframeId source, KeyframeId target, std::vector<FactorId>& goes_to);
  void AddFactor(FactorPtr factor, std::vector<FactorId>* goes_to);
  void ReadStates();

  MappingOptions options_;
  IncrementalSmoother smoother_;
  SmootherChange change_;
  std::vector<std::vector<FactorId>*> owners_;  // of change_'s factors, in their order
  std::map<KeyframeId, Entry> keyframes_;
  std::map<Pair, Edge> edges_;
  std::map<int, Anchor> anchors_;
  int64_t version_ = 0;
};

}  // namespace lumen
