// Searches loops, verifies and audits them: local ones among the last keyframes, global ones by appearance,
// both by geometry. What is found is closed by MapChanges. A global loop is on probation afterwards: one that
// contradicts what is seen later is taken out again, and the map goes back.
#pragma once

#include <optional>

#include "lumen/loop/place_index.h"
#include "lumen/slam/map_changes.h"

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
      : options_(options),
        mapper_(mapper),
        changes_(options.pose_scale, mapper),
        verifier_(options.verifier) {}

  // A keyframe that is in the map already; words may be empty where there is no vocabulary.
  void AddWords(KeyframeId id, BagOfWords words);
  // Looks for loops of this keyframe and closes what it finds.
  void Search(KeyframeId query);
  // Looks again at the loops on probation, in the light of this new keyframe.
  void Audit(KeyframeId newest);
  // Decides about every loop on probation by the keyframes about it, when no new ones will come and the map
  // has settled. Returns how many were taken out.
  int AuditByNeighbours();
  size_t Unproved() const { return probation_.size(); }
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
  struct Probation {
    LoopPair loop;
    int audits = 0;
    int doubts = 0;
    int supports = 0;
  };

  void SearchLocal(KeyframeId query, const PairEvidence& base, KeyframeId neighbour);
  void SearchGlobal(KeyframeId query, const PairEvidence& base);
  bool IsRedundant(KeyframeId query, KeyframeId candidate) const;
  bool IsRefuted(KeyframeId query, KeyframeId candidate) const;
  std::vector<Candidate> FindGlobalCandidates(KeyframeId query, const PairEvidence& base);
  // Whether the candidate's neighbours put the query in the same place.
  bool IsSupported(KeyframeId query, const Candidate& candidate);
  Rigid3 WorldFromQuery(KeyframeId reference, const RelativePoseScaleGoal& goal) const;
  double SimilarityOf(KeyframeId a, KeyframeId b) const;
  // Whether the loop's own matches agree with the map as it is.
  bool AgreesWithMap(const LoopPair& loop) const;
  // What another keyframe sees speaks for or against a loop.
  void Ask(Probation& probation, KeyframeId witness) const;
  static bool IsContradicted(const Probation& probation);
  // A keyframe about the loop's other end that by the map should look like the witness; -1 if there is none.
  KeyframeId FindSeenAgain(const LoopPair& loop, const LoopSide& witness) const;
  void Remove(Probation probation);
  std::vector<LoopPair> OnProbation() const;
  Probation* Find(const LoopPair& loop);
  uint64_t SeedOf(KeyframeId a, KeyframeId b) const {
    return static_cast<uint64_t>(a) * 1000003 + static_cast<uint64_t>(b);
  }

  LoopOptions options_;
  Mapper& mapper_;
  MapChanges changes_;
  LoopVerifier verifier_;
  PlaceIndex index_;
  std::vector<Probation> probation_;
  std::vector<LoopPair> refuted_;  // loops that were taken out
  std::vector<LoopEvent> events_;
};

}  // namespace lumen
