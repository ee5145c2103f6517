#include "lumen/slam/loop_closer.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/text.h"
#include "lumen/slam/graph_distance.h"
#include "lumen/slam/tracker.h"

namespace lumen {

namespace {

constexpr double kSeenAgain = 0.6;  // overlap at which a place has to be recognised
constexpr int kDoubtsAllowed = 3;
constexpr int kAboutHops = 2;      // edges within which a keyframe's place is seen
constexpr size_t kMostAbout = 10;  // keyframes about a place that are asked

}  // namespace

std::string ToString(LoopEventKind kind) {
  constexpr const char* kNames[] = {"closed", "rejected", "removed", "joined"};
  return kNames[static_cast<size_t>(kind)];
}

void LoopCloser::AddWords(KeyframeId id, BagOfWords words) {
  index_.Add(id, std::move(words));
  order_.insert(std::upper_bound(order_.begin(), order_.end(), id), id);
}

std::vector<KeyframeId> LoopCloser::Before(KeyframeId id, int count) const {
  std::vector<KeyframeId> before;
  auto at = std::lower_bound(order_.begin(), order_.end(), id);
  for (int i = 0; i < count && at != order_.begin(); ++i) {
    if (mapper_.Contains(*--at)) before.push_back(*at);
  }
  return before;
}

std::vector<KeyframeId> LoopCloser::After(KeyframeId id, int count) const {
  std::vector<KeyframeId> after;
  auto at = std::upper_bound(order_.begin(), order_.end(), id);
  for (int i = 0; i < count && at != order_.end(); ++i, ++at) {
    if (mapper_.Contains(*at)) after.push_back(*at);
  }
  return after;
}

void LoopCloser::Drop(KeyframeId retired) {
  index_.Remove(retired);
  changes_.Drop(retired);
}

bool LoopCloser::IsOnProbation(KeyframeId id) const {
  return std::any_of(probation_.begin(), probation_.end(), [&](const Probation& probation) {
    return probation.loop.query == id || probation.loop.reference == id;
  });
}

std::set<KeyframeId> LoopCloser::JustNow(KeyframeId id) const {
  std::set<KeyframeId> near{id};
  for (const KeyframeId other : Before(id, options_.global_gap - 1)) near.insert(other);
  for (const KeyframeId other : After(id, options_.global_gap - 1)) near.insert(other);
  return near;
}

bool LoopCloser::IsProved(KeyframeId a, KeyframeId b) const {
  return std::none_of(probation_.begin(), probation_.end(), [&](const Probation& probation) {
    return probation.loop == LoopPair{a, b} || probation.loop == LoopPair{b, a};
  });
}

std::vector<KeyframeId> LoopCloser::About(KeyframeId id) const {
  const auto proved = [&](KeyframeId a, KeyframeId b) { return IsProved(a, b); };
  std::vector<KeyframeId> about;
  for (const Reached& reached : FindWithin(mapper_, id, kAboutHops, proved)) {
    if (about.size() <= kMostAbout) about.push_back(reached.id);
  }
  return about;
}

LoopClosing LoopCloser::Close(KeyframeId query, KeyframeId reference, const PairEvidence& evidence,
                              double similarity) {
  if (mapper_.Connected(query, reference)) return LoopClosing::kRefused;
  const ClosedLoop closed = changes_.Close({query, reference}, evidence.goal);
  LoopEventKind kind = LoopEventKind::kClosed;
  if (closed.how == LoopClosing::kRefused) kind = LoopEventKind::kRejected;
  if (closed.how == LoopClosing::kJoined) kind = LoopEventKind::kJoined;
  Tell({kind, EdgeKind::kGlobalLoop, query, reference, similarity, evidence, closed.reason});
  if (closed.how == LoopClosing::kRefused) return closed.how;
  closed_.insert({query, reference});
  Probation& probation = probation_.emplace_back(Probation{{query, reference}, evidence.matches});
  if (closed.doubtful) probation.Count(false);
  return closed.how;
}

void LoopCloser::Trust(const LoopPair& loop) {
  changes_.Forget(loop);
  std::erase_if(probation_, [&](const Probation& other) { return other.loop == loop; });
}

void LoopCloser::Tell(LoopEvent event) {
  event.evidence.matches.reset();  // events may be kept for long
  events_.push_back(std::move(event));
}

KeyframeId LoopCloser::FindSeenAgain(const LoopPair& loop, const LoopSide& witness) const {
  const DepthImage depth = ComputeDepth(witness);
  const std::set<KeyframeId> just_now = JustNow(witness.id);
  KeyframeId seen = -1;
  double best = kSeenAgain;
  for (const KeyframeId id : About(loop.reference)) {
    const MapKeyframe& other = mapper_.At(id);
    if (just_now.contains(id) || other.submap != mapper_.At(witness.id).submap) continue;
    const double overlap = mapper_.OverlapByMap(witness.id, depth, id).Product();
    if (overlap > best) {
      best = overlap;
      seen = id;
    }
  }
  return seen;
}

bool LoopCloser::AgreesWithMap(Probation& probation) const {
  const LoopSide query = mapper_.Side(probation.loop.query);
  const LoopSide reference = mapper_.Side(probation.loop.reference);
  if (probation.matches == nullptr) {  // closed as given
    probation.matches =
        std::make_shared<const MatchSet>(verifier_.Match(query, reference, SeedOf(query.id, reference.id)));
  }
  return Agreement(query, reference, *probation.matches) >= options_.min_agreement;
}

// A doubt if the witness, which by the map looks at the loop's other end, does not recognise it.
void LoopCloser::Ask(Probation& probation, KeyframeId witness) {
  const LoopSide side = mapper_.Side(witness);
  const KeyframeId seen = FindSeenAgain(probation.loop, side);
  if (seen < 0) return;
  const LoopSide other = mapper_.Side(seen);
  // Several loops may lead to one place.
  auto found = witnessed_.find({witness, seen});
  if (found == witnessed_.end()) {
    MatchSet matched = verifier_.Match(side, other, SeedOf(witness, seen));
    found = witnessed_.emplace(PairOfIds{witness, seen}, std::move(matched)).first;
  }
  const bool recognised = Agreement(side, other, found->second) >= options_.min_agreement;
  probation.Count(recognised);
  if (recognised) ++probation.supports;
}

bool LoopCloser::IsContradicted(const Probation& probation) {
  return probation.doubts >= kDoubtsAllowed && probation.doubts > 2 * probation.supports;
}

std::vector<LoopPair> LoopCloser::OnProbation() const {
  std::vector<LoopPair> loops;
  for (const Probation& probation : probation_) loops.push_back(probation.loop);
  return loops;
}

LoopCloser::Probation* LoopCloser::Find(const LoopPair& loop) {
  const auto found = std::find_if(probation_.begin(), probation_.end(),
                                  [&](const Probation& probation) { return probation.loop == loop; });
  return found == probation_.end() ? nullptr : &*found;
}

void LoopCloser::Audit(KeyframeId newest) {
  witnessed_.clear();
  for (const LoopPair& loop : OnProbation()) {
    Probation* probation = Find(loop);
    if (probation == nullptr || loop.query == newest) continue;  // it may have gone with another
    ++probation->audits;
    probation->Count(AgreesWithMap(*probation));
    Ask(*probation, newest);
    if (IsContradicted(*probation)) {
      Remove(*probation);
    } else if (probation->audits >= options_.probation) {
      Trust(loop);
    }
  }
}

int LoopCloser::AuditByNeighbours() {
  witnessed_.clear();
  int removed = 0;
  for (const LoopPair& loop : OnProbation()) {
    Probation* probation = Find(loop);
    if (probation == nullptr) continue;  // it has gone with another
    // The map has settled with the loop in it: if its own matches do not agree now, that alone is enough.
    probation->Count(AgreesWithMap(*probation), kDoubtsAllowed);
    for (const KeyframeId id : About(loop.query)) {
      if (id != loop.query && mapper_.At(id).submap == mapper_.At(loop.query).submap) Ask(*probation, id);
    }
    if (!IsContradicted(*probation)) continue;
    Remove(*probation);
    ++removed;
  }
  for (const Probation& proved : probation_) changes_.Forget(proved.loop);
  probation_.clear();
  return removed;
}

// By value: the one it is called with is erased below.
void LoopCloser::Remove(Probation probation) {  // NOLINT(performance-unnecessary-value-param)
  const std::string reason = StrCat(probation.against, " of ", probation.looks, " looks speak against it");
  const std::vector<MapEdge> gone = changes_.TakeOut(probation.loop);
  refuted_.push_back(probation.loop);
  for (const MapEdge& edge : gone) {
    const bool is_the_loop = &edge == &gone.front();
    // An edge does not say which end was the query.
    const bool swapped = closed_.contains({edge.second, edge.first});
    const LoopPair loop = swapped ? LoopPair{edge.second, edge.first} : LoopPair{edge.first, edge.second};
    closed_.erase({loop.query, loop.reference});
    Tell({LoopEventKind::kRemoved,
          edge.kind,
          loop.query,
          loop.reference,
          0,
          {},
          is_the_loop ? reason : "the maps it links were parted"});
  }
  std::erase_if(probation_, [&](const Probation& other) {
    return !mapper_.Connected(other.loop.query, other.loop.reference);
  });
}

}  // namespace lumen
