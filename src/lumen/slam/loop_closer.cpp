#include "lumen/slam/loop_closer.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/text.h"
#include "lumen/slam/tracker.h"

namespace lumen {

namespace {

constexpr double kSupportDistance = 0.3;  // in mean depths
constexpr double kSupportAngle = 0.3;     // radians
constexpr double kSeenAgain = 0.6;        // overlap at which a place has to be recognised
constexpr int kDoubtsAllowed = 3;
constexpr KeyframeId kAbout = 5;  // keyframes before and after one that see its place

}  // namespace

std::string ToString(LoopEventKind kind) {
  switch (kind) {
    case LoopEventKind::kClosed:
      return "closed";
    case LoopEventKind::kRejected:
      return "rejected";
    case LoopEventKind::kRemoved:
      return "removed";
    case LoopEventKind::kJoined:
      return "joined";
  }
  return "?";
}

void LoopCloser::AddWords(KeyframeId id, BagOfWords words) { index_.Add(id, std::move(words)); }

double LoopCloser::SimilarityOf(KeyframeId a, KeyframeId b) const {
  return Similarity(index_.Words(a), index_.Words(b));
}

Rigid3 LoopCloser::WorldFromQuery(KeyframeId reference, const RelativePoseScaleGoal& goal) const {
  return mapper_.At(reference).state.world_from_camera * goal.target_from_source;
}

void LoopCloser::Search(KeyframeId query) {
  if (!options_.local && !options_.global) return;
  // The pair all others are compared with: the query and its closest connection.
  KeyframeId closest = -1;
  double best = 0;
  for (const KeyframeId id : mapper_.Neighbours(query)) {
    const double distance = PoseDistance(mapper_.At(id), mapper_.At(query).state.world_from_camera);
    if (closest < 0 || distance < best) {
      closest = id;
      best = distance;
    }
  }
  if (closest < 0) {  // the first keyframe of a sub-map has nothing to compare with but the fixed bounds
    if (options_.global) SearchGlobal(query, {});
    return;
  }
  const bool worth_a_look =
      mapper_.Size() > static_cast<size_t>(std::min(options_.local_gap, options_.global_gap));
  if (!worth_a_look) return;
  const PairEvidence base =
      verifier_.Examine(mapper_.Side(query), mapper_.Side(closest), SeedOf(query, closest));
  if (options_.local && base.verified) SearchLocal(query, base, closest);
  if (options_.global) SearchGlobal(query, base);
}

void LoopCloser::SearchLocal(KeyframeId query, const PairEvidence& base, KeyframeId neighbour) {
  const Rigid3& pose = mapper_.At(query).state.world_from_camera;
  const double reach = options_.local_distance_ratio * PoseDistance(mapper_.At(neighbour), pose);
  const double base_similarity = SimilarityOf(query, neighbour);
  std::optional<Candidate> best;
  for (KeyframeId id = query - options_.local_gap - 1; id >= query - options_.local_window; --id) {
    if (!mapper_.Contains(id) || mapper_.Connected(query, id)) continue;
    if (mapper_.At(id).submap != mapper_.At(query).submap) continue;
    if (PoseDistance(mapper_.At(id), pose) > reach) continue;
    const double similarity = SimilarityOf(query, id);
    if (similarity < options_.metric_ratio * base_similarity) continue;
    const PairEvidence evidence = verifier_.Examine(mapper_.Side(query), mapper_.Side(id), SeedOf(query, id));
    if (!evidence.Rivals(base, options_.metric_ratio)) continue;
    if (evidence.overlap.flow > base.overlap.flow / options_.metric_ratio) continue;
    if (!best || evidence.inlier_ratio * evidence.overlap.Product() >
                     best->evidence.inlier_ratio * best->evidence.overlap.Product())
      best = Candidate{id, similarity, evidence};
  }
  if (!best) return;
  mapper_.Connect(query, best->id, EdgeKind::kLocalLoop);
  events_.push_back(
      {LoopEventKind::kClosed, EdgeKind::kLocalLoop, query, best->id, best->similarity, best->evidence, ""});
}

// A neighbour of a keyframe that is linked already has little to add, and so has the next keyframe on a way
// that was just linked to that place.
bool LoopCloser::IsRedundant(KeyframeId query, KeyframeId candidate) const {
  for (KeyframeId near = query - options_.spacing + 1; near <= query; ++near) {
    if (!mapper_.Contains(near) || mapper_.At(near).submap != mapper_.At(query).submap) continue;
    for (const KeyframeId linked : mapper_.Neighbours(near)) {
      if (std::abs(linked - near) >= options_.global_gap &&
          std::abs(linked - candidate) < options_.redundant_range)
        return true;
    }
  }
  return false;
}

// What was just taken out would be verified again in the same way.
bool LoopCloser::IsRefuted(KeyframeId query, KeyframeId candidate) const {
  return std::any_of(refuted_.begin(), refuted_.end(), [&](const LoopPair& loop) {
    return std::abs(loop.query - query) < options_.spacing &&
           std::abs(loop.reference - candidate) < options_.redundant_range;
  });
}

std::vector<LoopCloser::Candidate> LoopCloser::FindGlobalCandidates(KeyframeId query,
                                                                    const PairEvidence& base) {
  double base_similarity = 0;
  for (const KeyframeId id : mapper_.Neighbours(query)) {
    if (std::abs(id - query) < options_.global_gap)
      base_similarity = std::max(base_similarity, SimilarityOf(query, id));
  }
  std::vector<Candidate> verified;
  int examined = 0;
  const size_t asked = static_cast<size_t>(options_.max_candidates + 2 * options_.global_gap);
  for (const PlaceScore& place : index_.Ask(index_.Words(query), asked)) {
    if (place.similarity < options_.similarity_ratio * base_similarity) break;
    if (examined >= options_.max_verified) break;
    if (!mapper_.Contains(place.id) || place.id == query || mapper_.Connected(query, place.id)) continue;
    const bool elsewhere = mapper_.At(place.id).submap != mapper_.At(query).submap;
    if (!elsewhere && std::abs(place.id - query) < options_.global_gap) continue;
    if (IsRedundant(query, place.id) || IsRefuted(query, place.id)) continue;
    ++examined;
    const PairEvidence evidence =
        verifier_.Examine(mapper_.Side(query), mapper_.Side(place.id), SeedOf(query, place.id));
    if (!evidence.verified) continue;
    if (base.verified && !evidence.Rivals(base, options_.metric_ratio)) continue;
    verified.push_back({place.id, place.similarity, evidence});
  }
  std::sort(verified.begin(), verified.end(), [](const Candidate& a, const Candidate& b) {
    return a.evidence.inlier_ratio > b.evidence.inlier_ratio;
  });
  return verified;
}

bool LoopCloser::IsSupported(KeyframeId query, const Candidate& candidate) {
  const Rigid3 claimed = WorldFromQuery(candidate.id, candidate.evidence.goal);
  const double unit = MeanDepth(mapper_.At(candidate.id));
  int supports = 0;
  int asked = 0;
  for (const KeyframeId neighbour : mapper_.Neighbours(candidate.id)) {
    if (neighbour == query || std::abs(neighbour - query) < options_.global_gap) continue;
    if (++asked > 3) break;
    const PairEvidence evidence =
        verifier_.Examine(mapper_.Side(query), mapper_.Side(neighbour), SeedOf(query, neighbour));
    if (!evidence.verified) continue;
    const Rigid3 difference = claimed.Inverse() * WorldFromQuery(neighbour, evidence.goal);
    const Vector6d log = difference.Log();
    if (log.head<3>().norm() < kSupportDistance * unit && log.tail<3>().norm() < kSupportAngle) ++supports;
  }
  return supports >= std::min(options_.min_supports, asked);
}

void LoopCloser::SearchGlobal(KeyframeId query, const PairEvidence& base) {
  if (index_.Words(query).empty()) return;
  std::vector<KeyframeId> kept;
  for (Candidate& candidate : FindGlobalCandidates(query, base)) {
    candidate.evidence.goal = InPresentUnit(candidate.evidence.goal, mapper_.At(candidate.id).state);
    const bool redundant = std::any_of(kept.begin(), kept.end(), [&](KeyframeId id) {
      return std::abs(id - candidate.id) < options_.redundant_range;
    });
    if (redundant) continue;
    if (!IsSupported(query, candidate)) {
      events_.push_back({LoopEventKind::kRejected, EdgeKind::kGlobalLoop, query, candidate.id,
                         candidate.similarity, candidate.evidence,
                         "the candidate's neighbours do not tell the same"});
      continue;
    }
    Close(query, candidate.id, candidate.evidence, candidate.similarity);
    kept.push_back(candidate.id);
  }
}

void LoopCloser::Close(KeyframeId query, KeyframeId reference, const PairEvidence& evidence,
                       double similarity) {
  if (mapper_.Connected(query, reference)) return;
  const ClosedLoop closed = changes_.Close({query, reference}, evidence.goal);
  LoopEventKind kind = LoopEventKind::kClosed;
  if (closed.how == LoopClosing::kRefused) kind = LoopEventKind::kRejected;
  if (closed.how == LoopClosing::kJoined) kind = LoopEventKind::kJoined;
  events_.push_back({kind, EdgeKind::kGlobalLoop, query, reference, similarity, evidence, closed.reason});
  if (closed.how != LoopClosing::kRefused)
    probation_.push_back({.loop = {query, reference}, .doubts = closed.doubtful ? 1 : 0});
}

KeyframeId LoopCloser::FindSeenAgain(const LoopPair& loop, const LoopSide& witness) const {
  const DepthImage depth = ComputeDepth(witness);
  KeyframeId seen = -1;
  double best = kSeenAgain;
  for (KeyframeId id = loop.reference - kAbout; id <= loop.reference + kAbout; ++id) {
    if (!mapper_.Contains(id) || std::abs(id - witness.id) < options_.global_gap) continue;
    if (mapper_.At(id).submap != mapper_.At(witness.id).submap) continue;
    const MapKeyframe& other = mapper_.At(id);
    const Overlap overlap =
        MeasureOverlap(depth, *witness.GetKeyframe().frame->view, *other.keyframe->frame->view,
                       other.state.world_from_camera.Inverse() * witness.state.world_from_camera);
    if (overlap.Product() > best) {
      best = overlap.Product();
      seen = id;
    }
  }
  return seen;
}

bool LoopCloser::AgreesWithMap(const LoopPair& loop) const {
  return verifier_.Agreement(mapper_.Side(loop.query), mapper_.Side(loop.reference),
                             SeedOf(loop.query, loop.reference)) >= options_.min_agreement;
}

// A doubt if the witness, which by the map looks at the loop's other end, does not recognise it.
void LoopCloser::Ask(Probation& probation, KeyframeId witness) const {
  const LoopSide side = mapper_.Side(witness);
  const KeyframeId seen = FindSeenAgain(probation.loop, side);
  if (seen < 0) return;
  const double recognised = verifier_.Agreement(side, mapper_.Side(seen), SeedOf(witness, seen));
  ++(recognised < options_.min_agreement ? probation.doubts : probation.supports);
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
  for (const LoopPair& loop : OnProbation()) {
    Probation* probation = Find(loop);
    if (probation == nullptr || loop.query == newest) continue;  // it may have gone with another
    ++probation->audits;
    if (!AgreesWithMap(loop)) ++probation->doubts;
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
  int removed = 0;
  for (const LoopPair& loop : OnProbation()) {
    Probation* probation = Find(loop);
    if (probation == nullptr) continue;  // it has gone with another
    ++probation->audits;
    // The map has settled with the loop in it: if its own matches do not agree now, that alone is enough.
    if (!AgreesWithMap(loop)) probation->doubts += kDoubtsAllowed;
    for (KeyframeId id = loop.query - kAbout; id <= loop.query + kAbout; ++id) {
      if (id == loop.query || !mapper_.Contains(id)) continue;
      if (mapper_.At(id).submap == mapper_.At(loop.query).submap) Ask(*probation, id);
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
  const std::string reason = StrCat(probation.doubts, " of ", probation.audits, " looks speak against it");
  const std::vector<MapEdge> gone = changes_.TakeOut(probation.loop);
  refuted_.push_back(probation.loop);
  for (const MapEdge& edge : gone) {
    const bool is_the_loop = &edge == &gone.front();
    events_.push_back({LoopEventKind::kRemoved,
                       edge.kind,
                       edge.first,
                       edge.second,
                       0,
                       {},
                       is_the_loop ? reason : "the maps it links were parted"});
  }
  std::erase_if(probation_, [&](const Probation& other) {
    return !mapper_.Connected(other.loop.query, other.loop.reference);
  });
}

}  // namespace lumen
