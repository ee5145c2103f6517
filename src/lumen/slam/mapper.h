// The only writer of graph and map: keyframes with their priors, connections with FM and GC both ways, kept
// solved by the incremental smoother. A keyframe that got no new connection for a while is settled: its code
// is held from then on, until one comes.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "lumen/factors/unpacked_features.h"
#include "lumen/loop/loop_verifier.h"
#include "lumen/slam/slam_options.h"

namespace lumen {

// One change of the map as a whole. What depends on places (which samples are hidden, say) is computed where
// the keyframes lie after it.
struct MapChange {
  std::map<KeyframeId, KeyframeState> moves;
  std::map<KeyframeId, int> submaps;  // keyframes that go to another sub-map
  std::vector<std::pair<KeyframeId, KeyframeId>> disconnects;
  std::vector<MapEdge> connects;
};

// How the smoother's steps went that did not simply go through.
struct MapTrouble {
  int64_t shortened = 0;  // steps that would have raised the error
  int64_t dropped = 0;    // and those that did so however short
  int64_t singular = 0;   // parts of the graph that held still for want of information
};

class Mapper {
 public:
  explicit Mapper(const MappingOptions& options, int threads = 1);

  // The first keyframe of a (sub-)map, held in place and scale by PS and SC.
  void Start(KeyframeId id, std::shared_ptr<const Keyframe> keyframe, KeyframeState state, int submap);
  // A further one, tracked against `parent`; it has to be connected before the next update.
  void Add(KeyframeId id, std::shared_ptr<const Keyframe> keyframe, KeyframeState state, int submap,
           KeyframeId parent);
  void Connect(KeyframeId a, KeyframeId b, EdgeKind kind);
  bool Connected(KeyframeId a, KeyframeId b) const { return edges_.contains(Ordered(a, b)); }
  // The whole change in one update. Each sub-map there is afterwards is held in place by one keyframe, where
  // that now lies.
  SmootherSummary Apply(const MapChange& change);

  // One step of the smoother, with all that was changed since the last.
  SmootherSummary Update();
  // Steps until `settled` in a row moved nothing beyond its thresholds, `most` at most, however many
  // connections each takes to be evaluated. Returns how many.
  int Settle(int most, int settled);
  // Every code is free from the next step on, for a last refinement of the whole.
  void ReleaseAll();
  // Compares a keyframe's depth with that of one a little before it; see MapKeyframe.
  void CompareDepth(KeyframeId id);
  // Looks for every point again, from where the map has it by now.
  void SeePointsAnew();

  // The keyframe leaves the graph and lies as it lies with its host from now on; the ties it had go with it,
  // so whoever calls has seen to it that its neighbours hang together without.
  void Retire(KeyframeId id, KeyframeId host);
  // One that had retired in an earlier map.
  void AddRetired(KeyframeId id, const MapKeyframe& keyframe);
  // The keyframe itself, or where it has retired to; and where it lies, active or not.
  KeyframeId HostOf(KeyframeId id) const;
  KeyframeState StateOf(KeyframeId id) const;
  size_t NumRetired() const { return retired_.size(); }

  // Active ones, as in all that follows.
  bool Contains(KeyframeId id) const { return keyframes_.contains(id); }
  size_t Size() const { return keyframes_.size(); }
  const MapKeyframe& At(KeyframeId id) const { return keyframes_.at(id).entry; }
  LoopSide Side(KeyframeId id) const;
  // How much of one keyframe, at its present depth (`ComputeDepth(Side(from))`), another sees by the map.
  Overlap OverlapByMap(KeyframeId from, const DepthImage& depth, KeyframeId to) const;
  KeyframeId AnchorOf(int submap) const { return anchors_.at(submap).id; }
  // The keyframe this one was tracked against; -1 for the first of a map as it began.
  KeyframeId ParentOf(KeyframeId id) const { return HostOf(keyframes_.at(id).parent); }
  bool IsAnchor(KeyframeId id) const;
  int BornIn(KeyframeId id) const { return keyframes_.at(id).born_in; }  // its sub-map when it was added
  // The share of an edge's samples that counts as hidden, over both directions.
  double HiddenShare(KeyframeId a, KeyframeId b) const { return edges_.at(Ordered(a, b)).hidden.Share(); }
  const MapTrouble& Trouble() const { return trouble_; }
  const IncrementalSmoother& Smoother() const { return smoother_; }
  std::vector<MapEdge> Edges() const;
  std::vector<KeyframeId> Neighbours(KeyframeId id) const;
  std::vector<KeyframeId> KeyframesOf(int submap) const;
  std::vector<KeyframeId> Ids() const;
  std::shared_ptr<const MapSnapshot> MakeSnapshot();

 private:
  struct Entry {
    MapKeyframe entry;
    std::shared_ptr<const KeyframeSamples> samples, few_samples;  // for FM, for GC
    KeyframeId parent = -1;
    int born_in = 0;
    std::vector<KeyframeId> neighbours = {};
    std::vector<FactorId> prior = {};
    std::vector<FactorId> points = {};
    int64_t touched = 0;  // how many keyframes had been added when it last got a connection
    bool settled = false;

    MapSide Side(KeyframeId id) const { return {id, samples->MeanDepth()}; }
  };
  struct Retired {
    MapKeyframe entry;
    Sim3 host_from_keyframe;
  };
  struct Hidden {
    int64_t hidden = 0, samples = 0;
    double Share() const {
      return samples == 0 ? 0 : static_cast<double>(hidden) / static_cast<double>(samples);
    }
  };
  struct Edge {
    EdgeKind kind = EdgeKind::kTemporal;
    std::vector<FactorId> factors;  // one; none until the next update
    Hidden hidden;
  };
  struct Anchor {
    KeyframeId id = -1;
    std::vector<FactorId> factors;
  };
  using Pair = std::pair<KeyframeId, KeyframeId>;
  static Pair Ordered(KeyframeId a, KeyframeId b) { return a < b ? Pair{a, b} : Pair{b, a}; }

  SmootherSummary UpdateWith(int most_evaluations);
  void RenewPoints();
  void HoldInPlace(int submap, KeyframeId id);
  void Remove(const std::vector<FactorId>& factors);
  void FinishPending();
  void Disconnect(KeyframeId a, KeyframeId b);
  void AnchorSubmaps(const std::map<KeyframeId, KeyframeState>& moved);
  std::shared_ptr<const HiddenSamples> Hide(const KeyframeSamples& samples, const KeyframeState& from,
                                            const MapKeyframe& to, const DepthImage& seen,
                                            Hidden& count) const;
  void AddDirection(KeyframeId source, KeyframeId target, FactorGraph& parts, Hidden& hidden) const;
  KeyframeValue ValueOf(KeyframeId id) const;
  // Holds the codes of what has settled, and lets go of those that have not.
  void HoldSettled();
  void AddFactor(FactorPtr factor, std::vector<FactorId>* goes_to);
  void ReadStates();

  MappingOptions options_;
  IncrementalSmoother smoother_;
  std::shared_ptr<UnpackedFeatures> unpacked_;
  PointBook book_;
  std::vector<KeyframeId> fresh_;
  SmootherChange change_;
  std::vector<std::vector<FactorId>*> owners_;  // of change_'s factors, in their order
  std::map<KeyframeId, Entry> keyframes_;
  std::map<KeyframeId, Retired> retired_;
  std::map<Pair, Edge> edges_;
  std::map<int, Anchor> anchors_;
  MapTrouble trouble_;
  int64_t added_ = 0;  // keyframes, ever
  int64_t version_ = 0;
};

}  // namespace lumen
