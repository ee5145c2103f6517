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
constexpr double kAgreeing = 0.03;        // in mean depths, radians and log-scale: a gap not worth spreading
constexpr int kDoubtsAllowed = 3;
constexpr int kSettling = 8;  // mapping steps after a loop was taken out

PoseScale PlaceOf(const KeyframeState& state) { return {state.world_from_camera, state.log_scale}; }

// The similarity that takes a keyframe from one place (and scale) to another.
Sim3 Correction(const PoseScale& from, const PoseScale& to) {
  const double scale = std::exp(to.log_scale - from.log_scale);
  const Eigen::Quaterniond rotation =
      to.world_from_camera.Rotation() * from.world_from_camera.Rotation().conjugate();
  return {scale, rotation,
          to.world_from_camera.Translation() - scale * (rotation * from.world_from_camera.Translation())};
}

PoseScale Apply(const Sim3& correction, const PoseScale& place) {
  return {correction.TransformPose(place.world_from_camera), place.log_scale + std::log(correction.Scale())};
}

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
    if (IsRedundant(query, place.id)) continue;
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
  for (const Candidate& candidate : FindGlobalCandidates(query, base)) {
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

// A loop between two sub-maps says where one lies in the other: it is moved there as a whole.
void LoopCloser::Join(Closed& closed, const RelativePoseScaleGoal& goal) {
  const int into = mapper_.At(closed.reference).submap;
  const int submap = mapper_.At(closed.query).submap;
  const PoseScale placed{WorldFromQuery(closed.reference, goal), goal.source_log_scale};
  const Sim3 correction = Correction(PlaceOf(mapper_.At(closed.query).state), placed);
  std::map<KeyframeId, PoseScale> moved;
  for (const KeyframeId id : mapper_.KeyframesOf(submap)) {
    const PoseScale place = PlaceOf(mapper_.At(id).state);
    closed.before.emplace(id, place);
    moved.emplace(id, Apply(correction, place));
  }
  closed.joined_submap = submap;
  closed.joined_anchor = mapper_.AnchorOf(submap);
  mapper_.Merge(submap, into);
  mapper_.Connect(closed.query, closed.reference, EdgeKind::kGlobalLoop);
  mapper_.Move(moved);
}

bool LoopCloser::Agrees(const Closed& closed, const RelativePoseScaleGoal& goal) const {
  const KeyframeState& query = mapper_.At(closed.query).state;
  const Vector6d gap = (WorldFromQuery(closed.reference, goal).Inverse() * query.world_from_camera).Log();
  return gap.head<3>().norm() < kAgreeing * MeanDepth(mapper_.At(closed.reference)) &&
         gap.tail<3>().norm() < kAgreeing && std::abs(goal.source_log_scale - query.log_scale) < kAgreeing;
}

// A loop within a map: the gap is spread over the keyframes between by the pose–scale graph.
void LoopCloser::Balance(Closed& closed, const RelativePoseScaleGoal& goal) {
  PoseScaleProblem problem;
  const int submap = mapper_.At(closed.query).submap;
  for (const KeyframeId id : mapper_.KeyframesOf(submap))
    problem.keyframes.emplace(id, PlaceOf(mapper_.At(id).state));
  closed.before = problem.keyframes;
  for (const MapEdge& edge : mapper_.Edges()) {
    if (problem.keyframes.contains(edge.first)) problem.connections.emplace_back(edge.first, edge.second);
  }
  problem.loops.push_back({closed.query, closed.reference, goal});
  problem.anchor = mapper_.AnchorOf(submap);
  const PoseScaleResult solved = SolvePoseScaleGraph(problem, options_.pose_scale);
  mapper_.Connect(closed.query, closed.reference, EdgeKind::kGlobalLoop);
  mapper_.Move(solved.keyframes);
}

void LoopCloser::Close(KeyframeId query, KeyframeId reference, const PairEvidence& evidence,
                       double similarity) {
  if (mapper_.Connected(query, reference)) return;
  Closed closed;
  closed.query = query;
  closed.reference = reference;
  const bool joins = mapper_.At(query).submap != mapper_.At(reference).submap;
  if (joins) {
    Join(closed, evidence.goal);
  } else if (Agrees(closed, evidence.goal)) {
    mapper_.Connect(query, reference, EdgeKind::kGlobalLoop);
  } else {
    Balance(closed, evidence.goal);
  }
  probation_.push_back(std::move(closed));
  events_.push_back({joins ? LoopEventKind::kJoined : LoopEventKind::kClosed, EdgeKind::kGlobalLoop, query,
                     reference, similarity, evidence, ""});
}

// What was seen later speaks against a loop if its own matches no longer agree with its pose, or if new
// keyframes, which by the map look at the loop's other end, do not recognise it.
bool LoopCloser::Contradicts(Closed& closed, KeyframeId newest) {
  ++closed.audits;
  const double agreement = verifier_.Agreement(mapper_.Side(closed.query), mapper_.Side(closed.reference),
                                               SeedOf(closed.query, closed.reference));
  if (agreement < options_.min_agreement) ++closed.doubts;
  const LoopSide side = mapper_.Side(newest);
  const DepthImage depth = ComputeDepth(side);
  KeyframeId seen = -1;
  double best = kSeenAgain;
  for (KeyframeId id = closed.reference - 5; id <= closed.reference + 5; ++id) {
    if (!mapper_.Contains(id) || std::abs(id - newest) < options_.global_gap) continue;
    if (mapper_.At(id).submap != mapper_.At(newest).submap) continue;
    const MapKeyframe& other = mapper_.At(id);
    const Overlap overlap =
        MeasureOverlap(depth, *side.GetKeyframe().frame->view, *other.keyframe->frame->view,
                       other.state.world_from_camera.Inverse() * side.state.world_from_camera);
    if (overlap.Product() > best) {
      best = overlap.Product();
      seen = id;
    }
  }
  if (seen >= 0) {
    const double recognised = verifier_.Agreement(side, mapper_.Side(seen), SeedOf(newest, seen));
    if (recognised < options_.min_agreement) {
      ++closed.doubts;
    } else {
      ++closed.supports;
    }
  }
  return closed.doubts >= kDoubtsAllowed && closed.doubts > 2 * closed.supports;
}

void LoopCloser::Audit(KeyframeId newest) {
  for (auto closed = probation_.begin(); closed != probation_.end();) {
    const bool judged = closed->query != newest;
    if (judged && Contradicts(*closed, newest)) {
      const Closed gone = *closed;
      closed = probation_.erase(closed);
      Remove(gone, StrCat(gone.doubts, " of ", gone.audits, " looks speak against it"));
    } else if (judged && closed->audits >= options_.probation) {
      closed = probation_.erase(closed);
    } else {
      ++closed;
    }
  }
}

// Back to where everything was; what came later goes along with the newest keyframe of that time. Returns the
// places of what was moved.
std::map<KeyframeId, PoseScale> LoopCloser::MoveBack(const Closed& closed) {
  if (closed.before.empty()) return {};  // the loop had moved nothing by itself
  std::map<KeyframeId, PoseScale> moved = closed.before;
  const KeyframeId newest = closed.before.rbegin()->first;
  const Sim3 correction = Correction(PlaceOf(mapper_.At(newest).state), closed.before.at(newest));
  const int submap = mapper_.At(closed.query).submap;
  std::set<KeyframeId> part;
  for (const KeyframeId id : mapper_.KeyframesOf(submap)) {
    if (!moved.contains(id) && id > newest)
      moved.emplace(id, Apply(correction, PlaceOf(mapper_.At(id).state)));
    if (moved.contains(id)) part.insert(id);
  }
  mapper_.Move(moved);
  if (closed.joined_submap) mapper_.Split(part, *closed.joined_submap, closed.joined_anchor);
  return moved;
}

void LoopCloser::Remove(const Closed& closed, const std::string& reason) {
  mapper_.Disconnect(closed.query, closed.reference);
  const std::map<KeyframeId, PoseScale> moved = MoveBack(closed);
  mapper_.Settle(kSettling, 2);
  // Loops closed since then were measured in a map that is gone: their way back is forgotten.
  for (Closed& other : probation_) {
    for (auto& [id, place] : other.before) {
      if (moved.contains(id)) place = moved.at(id);
    }
  }
  events_.push_back(
      {LoopEventKind::kRemoved, EdgeKind::kGlobalLoop, closed.query, closed.reference, 0, {}, reason});
}

}  // namespace lumen
