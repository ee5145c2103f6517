// Loop closure: local loops among the last keyframes, global ones by appearance, verified by geometry; a
// global one first runs the light pose–scale graph and then adds its full factors. A loop is on probation
// afterwards: one that contradicts what is seen later is taken out again, and the map goes back.
#pragma once

#include <deque>
#include <optional>

#include "lumen/loop/place_index.h"
#include "lumen/slam/mapper.h"

namespace lumen {

enum class LoopEventKind { kClosed, kRejected, kRemoved, kJoined };
std::string ToString(LoopEventKind kind);

struct LoopEvent {
  LoopEventKind kind = LoopEventKind::kClosed;
  EdgeKind edge = EdgeKind::kGlobalLoop;
  KeyframeId query = 0;
  KeyframeId reference = 0;
  double similarity = 0;
  PairEvidence evidence;
  std::string reason;
};

class LoopCloser {
 public:
  LoopCloser(const LoopOptions& options, Mapper& mapper)
      : options_(options), mapper_(mapper), verifier_(options.verifier) {}

  // A keyframe that is in the map already; words may be empty where there is no vocabulary.
  void AddWords(KeyframeId id, BagOfWords words);
  // Looks for loops of this keyframe and closes what it finds.
  void Search(KeyframeId query);
  // Looks again at the loops on probation, in the light of this new keyframe.
  void Audit(KeyframeId newest);
  // Closes a loop as given, right or wrong: for experiments and tests.
  void Close(KeyframeId query, KeyframeId reference, const PairEvidence& evidence, double similarity);

  const PlaceIndex& Index() const { return index_; }
  std::vector<LoopEvent> TakeEvents() { return std::exchange(events_, {}); }

 private:
  struct Candidate {
    KeyframeId id = 0;
    double similarity = 0;
    PairEvidence evidence;
  };
  struct Closed {
    KeyframeId query = 0;
    KeyframeId reference = 0;
    std::map<KeyframeId, PoseScale> before;  // where the keyframes were; empty if none was moved
    std::optional<int> joined_submap;        // the sub-map that was merged by this loop
    KeyframeId joined_anchor = -1;
    int audits = 0;
    int doubts = 0;
    int supports = 0;
  };

  void SearchLocal(KeyframeId query, const PairEvidence& base, KeyframeId neighbour);
  void SearchGlobal(KeyframeId query, const PairEvidence& base);
  bool IsRedundant(KeyframeId query, KeyframeId candidate) const;
  std::vector<Candidate> FindGlobalCandidates(KeyframeId query, const PairEvidence& base);
  // Whether the candidate's neighbours put the query in the same place.
  bool IsSupported(KeyframeId query, const Candidate& candidate);
  Rigid3 WorldFromQuery(KeyframeId reference, const RelativePoseScaleGoal& goal) const;
  double SimilarityOf(KeyframeId a, KeyframeId b) const;
  void Join(Closed& closed, const RelativePoseScaleGoal& goal);
  // Whether the map puts the pair where the loop does already.
  bool Agrees(const Closed& closed, const RelativePoseScaleGoal& goal) const;
  void Balance(Closed& closed, const RelativePoseScaleGoal& goal);
  bool Contradicts(Closed& closed, KeyframeId newest);
  std::map<KeyframeId, PoseScale> MoveBack(const Closed& closed);
  void Remove(const Closed& closed, const std::string& reason);
  uint64_t SeedOf(KeyframeId a, KeyframeId b) const {
    return static_cast<uint64_t>(a) * 1000003 + static_cast<uint64_t>(b);
  }

  LoopOptions options_;
  Mapper& mapper_;
  LoopVerifier verifier_;
  PlaceIndex index_;
  std::deque<Closed> probation_;
  std::vector<LoopEvent> events_;
};

}  // namespace lumen
