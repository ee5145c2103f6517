#include "lumen/slam/loop_closer.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/parallel.h"
#include "lumen/base/text.h"
#include "lumen/slam/graph_distance.h"
#include "lumen/slam/tracker.h"

namespace lumen {

namespace {

constexpr double kSupportDistance = 0.3;  // in mean depths
constexpr double kSupportAngle = 0.3;     // radians
constexpr double kSeenAgain = 0.6;        // overlap at which a place has to be recognised
constexpr int kDoubtsAllowed = 3;
constexpr int kAboutHops = 2;      // edges within which a keyframe's place is seen
constexpr size_t kMostAbout = 10;  // keyframes about a place that are asked
constexpr size_t kSupportsAsked = 3;
constexpr double kForeseen =
    1.5;  // by how much the map may misjudge overlap and flow of keyframes close in time

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

std::vector<KeyframeId> LoopCloser::About(KeyframeId id) const {
  const auto proved = [&](KeyframeId a, KeyframeId b) {
    return std::none_of(probation_.begin(), probation_.end(), [&](const Probation& probation) {
      return probation.loop == LoopPair{a, b} || probation.loop == LoopPair{b, a};
    });
  };
  std::vector<KeyframeId> about;
  for (const Reached& reached : FindWithin(mapper_, id, kAboutHops, proved)) {
    if (about.size() <= kMostAbout) about.push_back(reached.id);
  }
  return about;
}

double LoopCloser::SimilarityOf(KeyframeId a, KeyframeId b) const {
  return Similarity(index_.Words(a), index_.Words(b));
}

Rigid3 LoopCloser::WorldFromQuery(KeyframeId reference, const RelativePoseScaleGoal& goal) const {
  return mapper_.At(reference).state.world_from_camera * goal.target_from_source;
}

LoopCloser::Query LoopCloser::MakeQuery(KeyframeId id) const {
  Query query{.id = id, .just_now = JustNow(id)};
  double best = 0;
  for (const KeyframeId other : mapper_.Neighbours(id)) {
    const double distance = PoseDistance(mapper_.At(other), mapper_.At(id).state.world_from_camera);
    if (query.closest >= 0 && distance >= best) continue;
    query.closest = other;
    best = distance;
  }
  return query;
}

const PairEvidence& LoopCloser::Base(Query& query) const {
  if (!query.base) {
    // The first keyframe of a sub-map has nothing to compare with but the fixed bounds.
    query.base = query.closest < 0 ? PairEvidence{}
                                   : verifier_.Examine(mapper_.Side(query.id), mapper_.Side(query.closest),
                                                       SeedOf(query.id, query.closest));
  }
  return *query.base;
}

void LoopCloser::ExamineAll(KeyframeId query, std::vector<Candidate>& candidates) const {
  const LoopSide side = mapper_.Side(query);
  ParallelFor(std::ssize(candidates), threads_, [&](int64_t i) {
    Candidate& candidate = candidates[static_cast<size_t>(i)];
    candidate.evidence = verifier_.Examine(side, mapper_.Side(candidate.id), SeedOf(query, candidate.id));
  });
}

void LoopCloser::Search(KeyframeId id) {
  Query query = MakeQuery(id);
  if (options_.local && query.closest >= 0) SearchLocal(query);
  if (options_.global && !index_.Words(id).empty()) SearchGlobal(query);
}

void LoopCloser::SearchLocal(Query& query) {
  const MapKeyframe& keyframe = mapper_.At(query.id);
  const Rigid3& pose = keyframe.state.world_from_camera;
  const double reach = options_.local_distance_ratio * PoseDistance(mapper_.At(query.closest), pose);
  const double alike = options_.metric_ratio * SimilarityOf(query.id, query.closest);
  const DepthImage depth = ComputeDepth(mapper_.Side(query.id));
  const Overlap usual = mapper_.OverlapByMap(query.id, depth, query.closest);
  std::vector<Candidate> candidates;
  const std::vector<KeyframeId> window = Before(query.id, options_.local_window);
  for (size_t i = static_cast<size_t>(options_.local_gap); i < window.size(); ++i) {
    const MapKeyframe& other = mapper_.At(window[i]);
    if (other.submap != keyframe.submap || mapper_.Connected(query.id, window[i])) continue;
    if (PoseDistance(other, pose) > reach) continue;
    const double similarity = SimilarityOf(query.id, window[i]);
    if (similarity < alike) continue;
    // So close in time the map knows well enough what a look at the images would say.
    const Overlap foreseen = mapper_.OverlapByMap(query.id, depth, window[i]);
    if (kForeseen * foreseen.Product() < options_.metric_ratio * usual.Product()) continue;
    if (options_.metric_ratio * foreseen.flow > kForeseen * usual.flow) continue;
    candidates.push_back({window[i], similarity});
  }
  ExamineAll(query.id, candidates);
  const Candidate* best = nullptr;
  const auto quality = [](const Candidate& candidate) {
    return candidate.evidence.inlier_ratio * candidate.evidence.overlap.Product();
  };
  for (const Candidate& candidate : candidates) {
    const PairEvidence& evidence = candidate.evidence;
    if (!evidence.verified || !Base(query).verified) continue;
    if (!evidence.Rivals(Base(query), options_.metric_ratio)) continue;
    if (evidence.overlap.flow > Base(query).overlap.flow / options_.metric_ratio) continue;
    if (best == nullptr || quality(candidate) > quality(*best)) best = &candidate;
  }
  if (best == nullptr) return;
  mapper_.Connect(query.id, best->id, EdgeKind::kLocalLoop);
  closed_.insert({query.id, best->id});
  Tell({LoopEventKind::kClosed, EdgeKind::kLocalLoop, query.id, best->id, best->similarity, best->evidence,
        ""});
}

std::set<KeyframeId> LoopCloser::AtHand(KeyframeId query) const {
  std::set<KeyframeId> at_hand;
  for (const Reached& reached : FindWithin(mapper_, query, options_.redundant_hops))
    at_hand.insert(reached.id);
  return at_hand;
}

std::set<KeyframeId> LoopCloser::Refuted(KeyframeId query) const {
  std::set<KeyframeId> refuted;
  if (refuted_.empty()) return refuted;
  for (const Reached& near : FindWithin(mapper_, query, options_.redundant_hops - 1)) {
    for (const LoopPair& loop : refuted_) {
      if (loop.query != near.id || !mapper_.Contains(loop.reference)) continue;
      const int left = options_.redundant_hops - 1 - near.hops;
      for (const Reached& other : FindWithin(mapper_, loop.reference, left)) refuted.insert(other.id);
    }
  }
  return refuted;
}

std::vector<LoopCloser::Candidate> LoopCloser::FindGlobalCandidates(const Query& query) const {
  double neighbours = 0;
  for (const KeyframeId id : mapper_.Neighbours(query.id)) {
    if (query.just_now.contains(id)) neighbours = std::max(neighbours, SimilarityOf(query.id, id));
  }
  const std::set<KeyframeId> at_hand = AtHand(query.id);
  const std::set<KeyframeId> refuted = Refuted(query.id);
  const int submap = mapper_.At(query.id).submap;
  std::vector<Candidate> candidates;
  const size_t asked = static_cast<size_t>(options_.max_candidates + 2 * options_.global_gap);
  for (const PlaceScore& place : index_.Ask(index_.Words(query.id), asked)) {
    if (place.similarity < options_.similarity_ratio * neighbours) break;
    if (std::ssize(candidates) >= options_.max_verified) break;
    if (!mapper_.Contains(place.id) || at_hand.contains(place.id) || refuted.contains(place.id)) continue;
    if (mapper_.At(place.id).submap == submap && query.just_now.contains(place.id)) continue;
    candidates.push_back({place.id, place.similarity});
  }
  return candidates;
}

bool LoopCloser::TellsTheSame(const Candidate& candidate, const Candidate& neighbour) const {
  if (!neighbour.evidence.verified) return false;
  const double unit = MeanDepth(mapper_.At(candidate.id));
  const Rigid3 claimed = WorldFromQuery(candidate.id, candidate.evidence.goal);
  const Vector6d log = (claimed.Inverse() * WorldFromQuery(neighbour.id, neighbour.evidence.goal)).Log();
  return log.head<3>().norm() < kSupportDistance * unit && log.tail<3>().norm() < kSupportAngle;
}

bool LoopCloser::IsSupported(const Query& query, const Candidate& candidate) const {
  std::vector<Candidate> neighbours;
  for (const KeyframeId id : mapper_.Neighbours(candidate.id)) {
    if (!query.just_now.contains(id) && neighbours.size() < kSupportsAsked) neighbours.push_back({id});
  }
  const int needed = std::min(options_.min_supports, static_cast<int>(neighbours.size()));
  int supports = 0;
  // As many at a time as there are threads: whether there are enough does not depend on who was asked beyond.
  for (size_t first = 0; first < neighbours.size() && supports < needed;) {
    const size_t end = std::min(neighbours.size(), first + static_cast<size_t>(std::max(1, threads_)));
    std::vector<Candidate> asked(neighbours.begin() + static_cast<int64_t>(first),
                                 neighbours.begin() + static_cast<int64_t>(end));
    ExamineAll(query.id, asked);
    for (const Candidate& neighbour : asked) supports += TellsTheSame(candidate, neighbour) ? 1 : 0;
    first = end;
  }
  return supports >= needed;
}

void LoopCloser::SearchGlobal(Query& query) {
  std::vector<Candidate> candidates = FindGlobalCandidates(query);
  ExamineAll(query.id, candidates);
  std::erase_if(candidates, [&](const Candidate& candidate) {
    if (!candidate.evidence.verified) return true;
    return Base(query).verified && !candidate.evidence.Rivals(Base(query), options_.metric_ratio);
  });
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.evidence.inlier_ratio > b.evidence.inlier_ratio;
  });
  bool closed = false;
  for (Candidate& candidate : candidates) {
    if (closed && AtHand(query.id).contains(candidate.id)) continue;  // by the loop before
    candidate.evidence.goal = InPresentUnit(candidate.evidence.goal, mapper_.At(candidate.id).state);
    if (!IsSupported(query, candidate)) {
      Tell({LoopEventKind::kRejected, EdgeKind::kGlobalLoop, query.id, candidate.id, candidate.similarity,
            candidate.evidence, "the candidate's neighbours do not tell the same"});
      continue;
    }
    Close(query.id, candidate.id, candidate.evidence, candidate.similarity);
    closed = true;
  }
}

void LoopCloser::Close(KeyframeId query, KeyframeId reference, const PairEvidence& evidence,
                       double similarity) {
  if (mapper_.Connected(query, reference)) return;
  const ClosedLoop closed = changes_.Close({query, reference}, evidence.goal);
  LoopEventKind kind = LoopEventKind::kClosed;
  if (closed.how == LoopClosing::kRefused) kind = LoopEventKind::kRejected;
  if (closed.how == LoopClosing::kJoined) kind = LoopEventKind::kJoined;
  Tell({kind, EdgeKind::kGlobalLoop, query, reference, similarity, evidence, closed.reason});
  if (closed.how == LoopClosing::kRefused) return;
  closed_.insert({query, reference});
  Probation& probation = probation_.emplace_back(Probation{{query, reference}, evidence.matches});
  if (closed.doubtful) probation.Count(false);
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
      changes_.Forget(loop);
      std::erase_if(probation_, [&](const Probation& other) { return other.loop == loop; });
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

void LoopCloser::Remove(Probation probation) {
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
