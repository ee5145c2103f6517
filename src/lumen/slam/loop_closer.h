// Searches loops, verifies and audits them: local ones among the last keyframes, global ones by appearance,
// both by geometry. What is found is closed by MapChanges. A global loop is on probation afterwards: one that
// contradicts what is seen later is taken out again, and the map goes back.
#pragma once

#include <map>
#include <optional>
#include <set>

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
  LoopCloser(const LoopOptions& options, Mapper& mapper, int threads = 1)
      : options_(options),
        threads_(threads),
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
  LoopClosing Close(KeyframeId query, KeyframeId reference, const PairEvidence& evidence, double similarity);

  // A keyframe that has retired is not looked for any more.
  void Drop(KeyframeId retired);
  bool IsOnProbation(KeyframeId id) const;
  // How well the map as it is explains a keyframe's matches with another.
  MatchAgreement AgreementOf(KeyframeId a, KeyframeId b, double pixels) const {
    const LoopSide first = mapper_.Side(a);
    const LoopSide second = mapper_.Side(b);
    return CompareWithMatches(first, second, verifier_.Match(first, second, SeedOf(a, b)), pixels);
  }

  const PlaceIndex& Index() const { return index_; }
  std::vector<LoopEvent> TakeEvents() { return std::exchange(events_, {}); }

 private:
  struct Candidate {
    KeyframeId id = 0;
    double similarity = 0;
    PairEvidence evidence = {};
    Overlap foreseen = {};  // by the map, where that can tell
    bool is_foreseen = false;
  };
  // What is known of a query while its loops are searched.
  struct Query {
    KeyframeId id = 0;
    KeyframeId closest = -1;  // of its connections; -1: the first of a sub-map has none
    std::optional<PairEvidence> base =
        {};                              // the query and its closest connection: what loops are compared with
    std::set<KeyframeId> just_now = {};  // keyframes about it in time
    std::set<KeyframeId> known = {};     // whose place relative to it the map knows well
  };
  struct Probation {
    LoopPair loop;
    std::shared_ptr<const MatchSet> matches = {};  // the loop's own
    int audits = 0;
    int looks = 0, against = 0;  // what was seen, and what of it speaks against the loop
    int doubts = 0;              // the latter by weight
    int supports = 0;

    void Count(bool agrees, int weight = 1) {
      ++looks;
      if (agrees) return;
      ++against;
      doubts += weight;
    }
  };
  using PairOfIds = std::pair<KeyframeId, KeyframeId>;

  Query MakeQuery(KeyframeId id) const;
  // Examined when it is first asked for, since most queries have no candidate that is worth it.
  const PairEvidence& Base(Query& query) const;
  void SearchLocal(Query& query);
  void SearchGlobal(Query& query);
  // The query held against each, in their order whatever the number of threads.
  void ExamineAll(KeyframeId query, std::vector<Candidate>& candidates) const;
  // Who looks alike and is neither at hand in the graph already nor refuted.
  std::vector<Candidate> FindGlobalCandidates(const Query& query) const;
  void KeepForeseen(const Query& query, std::vector<Candidate>& candidates) const;
  bool CloseForeseen(const Query& query, const std::vector<Candidate>& candidates);
  std::set<KeyframeId> AtHand(KeyframeId query) const;
  // Keyframes that a loop which was taken out would have brought to hand.
  std::set<KeyframeId> Refuted(KeyframeId query) const;
  // Whether the candidate's neighbours put the query in the same place.
  bool IsSupported(const Query& query, const Candidate& candidate) const;
  // Whether the candidate puts the query about there.
  bool Claims(const Candidate& candidate, const Rigid3& world_from_query) const;
  Rigid3 WorldFromQuery(KeyframeId reference, const RelativePoseScaleGoal& goal) const;
  double SimilarityOf(KeyframeId a, KeyframeId b) const;
  // The keyframes before this one, the last first, and those after it: those of so many that are in the map.
  std::vector<KeyframeId> Before(KeyframeId id, int count) const;
  std::vector<KeyframeId> After(KeyframeId id, int count) const;
  std::set<KeyframeId> JustNow(KeyframeId id) const;
  // A keyframe and those that see its place by what does not need to prove itself any more.
  std::vector<KeyframeId> About(KeyframeId id) const;
  bool IsProved(KeyframeId a, KeyframeId b) const;
  // The loop need not prove itself any more.
  void Trust(const LoopPair& loop);
  // Whether the loop's own matches agree with the map as it is.
  bool AgreesWithMap(Probation& probation) const;
  // What another keyframe sees speaks for or against a loop.
  void Ask(Probation& probation, KeyframeId witness);
  static bool IsContradicted(const Probation& probation);
  // A keyframe about the loop's other end that by the map should look like the witness; -1 if there is none.
  KeyframeId FindSeenAgain(const LoopPair& loop, const LoopSide& witness) const;
  void Remove(Probation probation);
  void Tell(LoopEvent event);
  std::vector<LoopPair> OnProbation() const;
  Probation* Find(const LoopPair& loop);
  uint64_t SeedOf(KeyframeId a, KeyframeId b) const {
    return static_cast<uint64_t>(a) * 1000003 + static_cast<uint64_t>(b);
  }

  LoopOptions options_;
  int threads_;
  Mapper& mapper_;
  MapChanges changes_;
  LoopVerifier verifier_;
  PlaceIndex index_;
  std::vector<KeyframeId> order_;  // all keyframes there ever were, ascending
  std::vector<Probation> probation_;
  std::map<PairOfIds, MatchSet> witnessed_;  // what witnesses were asked in the present audit
  std::set<PairOfIds> closed_;               // loops in the map, as (query, reference)
  std::vector<LoopPair> refuted_;            // loops that were taken out
  std::vector<LoopEvent> events_;
};

}  // namespace lumen
