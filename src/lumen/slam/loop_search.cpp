// Where LoopCloser looks for loops: the candidates of a keyframe, and what makes one of them a loop.
#include <algorithm>
#include <cmath>

#include "lumen/base/parallel.h"
#include "lumen/slam/graph_distance.h"
#include "lumen/slam/loop_closer.h"
#include "lumen/slam/tracker.h"

namespace lumen {

namespace {

constexpr double kSupportDistance = 0.3;  // in mean depths
constexpr double kSupportAngle = 0.3;     // radians
constexpr size_t kSupportsAsked = 3;
constexpr double kForeseen = 1.5;       // by how much the map may misjudge overlap and flow
constexpr double kForeseenWell = 1.25;  // and where all between is tied together
constexpr int kMapKnows = 10;           // edges within which it can tell what two keyframes see of each other
constexpr double kExactly = 1.5;     // pixels within which features pull two keyframes together by themselves
constexpr double kSameScale = 0.03;  // log-ratio of depths below which there is nothing to balance

}  // namespace

double LoopCloser::SimilarityOf(KeyframeId a, KeyframeId b) const {
  return Similarity(index_.Words(a), index_.Words(b));
}

Rigid3 LoopCloser::WorldFromQuery(KeyframeId reference, const RelativePoseScaleGoal& goal) const {
  return mapper_.At(reference).state.world_from_camera * goal.target_from_source;
}

LoopCloser::Query LoopCloser::MakeQuery(KeyframeId id) const {
  Query query{.id = id, .just_now = JustNow(id)};
  const auto proved = [&](KeyframeId a, KeyframeId b) { return IsProved(a, b); };
  for (const Reached& reached : FindWithin(mapper_, id, kMapKnows, proved)) query.known.insert(reached.id);
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

// Of those whose place the map knows, the ones it says enough is seen of, the most first.
void LoopCloser::KeepForeseen(const Query& query, std::vector<Candidate>& candidates) const {
  const auto unknown =
      std::stable_partition(candidates.begin(), candidates.end(),
                            [&](const Candidate& candidate) { return query.known.contains(candidate.id); });
  if (unknown == candidates.begin()) return;
  const DepthImage depth = ComputeDepth(mapper_.Side(query.id));
  const double usual = mapper_.OverlapByMap(query.id, depth, query.closest).Product();
  for (auto known = candidates.begin(); known != unknown; ++known) {
    known->foreseen = mapper_.OverlapByMap(query.id, depth, known->id);
    known->is_foreseen = known->foreseen.Product() >= options_.metric_ratio * usual;
  }
  std::stable_sort(candidates.begin(), unknown, [](const Candidate& a, const Candidate& b) {
    return a.foreseen.Product() > b.foreseen.Product();
  });
  const auto kept = std::find_if(candidates.begin(), unknown, [&](const Candidate& known) {
    return kForeseenWell * known.foreseen.Product() < options_.metric_ratio * usual;
  });
  candidates.erase(kept, unknown);
}

// Where the map foresees a loop and the pictures agree with it as they do between neighbours, there is
// nothing to measure.
bool LoopCloser::CloseForeseen(const Query& query, const std::vector<Candidate>& candidates) {
  if (candidates.empty() || !candidates.front().is_foreseen) return false;
  const double usual = AgreementOf(query.id, query.closest, kExactly).share;
  const double needed = std::max(options_.verifier.min_inlier_ratio, options_.metric_ratio * usual);
  for (const Candidate& candidate : candidates) {
    if (!candidate.is_foreseen) continue;
    const MatchAgreement agreement = AgreementOf(query.id, candidate.id, kExactly);
    if (agreement.share < needed || std::abs(agreement.log_ratio) > kSameScale) continue;
    mapper_.Connect(query.id, candidate.id, EdgeKind::kGlobalLoop);
    closed_.insert({query.id, candidate.id});
    PairEvidence evidence;
    evidence.verified = true;
    evidence.inlier_ratio = agreement.share;
    evidence.overlap = candidate.foreseen;
    Tell({LoopEventKind::kClosed, EdgeKind::kGlobalLoop, query.id, candidate.id, candidate.similarity,
          std::move(evidence), ""});
    return true;
  }
  return false;
}

bool LoopCloser::Claims(const Candidate& candidate, const Rigid3& world_from_query) const {
  const double unit = MeanDepth(mapper_.At(candidate.id));
  const Rigid3 claimed = WorldFromQuery(candidate.id, candidate.evidence.goal);
  const Vector6d log = (claimed.Inverse() * world_from_query).Log();
  return log.head<3>().norm() < kSupportDistance * unit && log.tail<3>().norm() < kSupportAngle;
}

bool LoopCloser::IsSupported(const Query& query, const Candidate& candidate) const {
  if (query.known.contains(candidate.id) && Claims(candidate, mapper_.At(query.id).state.world_from_camera))
    return true;  // all that lies between the two says so
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
    for (const Candidate& neighbour : asked) {
      const bool agrees = neighbour.evidence.verified &&
                          Claims(candidate, WorldFromQuery(neighbour.id, neighbour.evidence.goal));
      supports += agrees ? 1 : 0;
    }
    first = end;
  }
  return supports >= needed;
}

void LoopCloser::SearchGlobal(Query& query) {
  std::vector<Candidate> candidates = FindGlobalCandidates(query);
  KeepForeseen(query, candidates);
  if (CloseForeseen(query, candidates)) return;
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
    const LoopClosing how = Close(query.id, candidate.id, candidate.evidence, candidate.similarity);
    closed = true;
    // What the map says already needs no proof, and takes nothing to undo.
    if (how == LoopClosing::kConnected && query.known.contains(candidate.id)) Trust({query.id, candidate.id});
  }
}

}  // namespace lumen
