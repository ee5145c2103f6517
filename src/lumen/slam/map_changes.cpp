#include "lumen/slam/map_changes.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/text.h"
#include "lumen/slam/tracker.h"

namespace lumen {

namespace {

constexpr double kAgreeing = 0.03;  // in mean depths, radians and log-scale: a gap not worth spreading
constexpr int kSettling = 8;        // mapping steps after a loop was taken out

KeyframeState Moved(const Sim3& by, const KeyframeState& state) {
  return StateAt(by * PlaceOf(state), state.code);
}

bool Bridges(KeyframeId a, KeyframeId b, const std::set<KeyframeId>& part) {
  return part.contains(a) != part.contains(b);
}

// What has gone to another map since does not move with this one.
void Keep(const std::set<KeyframeId>& part, std::map<KeyframeId, KeyframeState>& moves) {
  std::erase_if(moves, [&](const auto& move) { return !part.contains(move.first); });
}

std::set<KeyframeId> AsSet(const std::vector<KeyframeId>& ids) { return {ids.begin(), ids.end()}; }

}  // namespace

RelativePoseScaleGoal InPresentUnit(RelativePoseScaleGoal goal, const KeyframeState& reference) {
  const double growth = reference.log_scale - goal.target_log_scale;
  goal.target_from_source = {goal.target_from_source.Rotation(),
                             std::exp(growth) * goal.target_from_source.Translation()};
  goal.source_log_scale += growth;
  goal.target_log_scale += growth;
  return goal;
}

bool MapChanges::Agrees(const LoopPair& loop, const RelativePoseScaleGoal& goal) const {
  const MapKeyframe& reference = mapper_.At(loop.reference);
  const KeyframeState& query = mapper_.At(loop.query).state;
  const Rigid3 claimed = reference.state.world_from_camera * goal.target_from_source;
  const Vector6d gap = (claimed.Inverse() * query.world_from_camera).Log();
  return gap.head<3>().norm() < kAgreeing * MeanDepth(reference) && gap.tail<3>().norm() < kAgreeing &&
         std::abs(goal.source_log_scale - query.log_scale) < kAgreeing;
}

ClosedLoop MapChanges::Close(const LoopPair& loop, const RelativePoseScaleGoal& measured) {
  if (mapper_.Connected(loop.query, loop.reference))
    return {LoopClosing::kRefused, "the two are connected already"};
  const RelativePoseScaleGoal goal = InPresentUnit(measured, mapper_.At(loop.reference).state);
  if (mapper_.At(loop.query).submap != mapper_.At(loop.reference).submap) return Join(loop, goal);
  if (Agrees(loop, goal)) return Commit(LoopClosing::kConnected, {}, {loop});
  return Balance(loop, goal);
}

// A loop between two sub-maps says where one lies in the other: it is moved there as a whole.
ClosedLoop MapChanges::Join(const LoopPair& loop, const RelativePoseScaleGoal& goal) {
  const MapKeyframe& reference = mapper_.At(loop.reference);
  const KeyframeState placed{
      reference.state.world_from_camera * goal.target_from_source, goal.source_log_scale, {}};
  const Sim3 correction = PlaceOf(placed) * PlaceOf(mapper_.At(loop.query).state).Inverse();
  MapChange change;
  WayBack way{loop};
  way.joined = true;
  for (const KeyframeId id : mapper_.KeyframesOf(mapper_.At(loop.query).submap)) {
    const KeyframeState& state = mapper_.At(id).state;
    way.before.emplace(id, state);
    change.moves.emplace(id, Moved(correction, state));
    change.submaps.emplace(id, reference.submap);
  }
  const auto origins = Origins();
  for (const KeyframeId id : mapper_.KeyframesOf(reference.submap)) way.joined_to.insert(origins.at(id));
  return Commit(LoopClosing::kJoined, std::move(change), std::move(way));
}

// A loop within a map: the gap is spread over the keyframes between by the pose–scale graph.
ClosedLoop MapChanges::Balance(const LoopPair& loop, const RelativePoseScaleGoal& goal) {
  PoseScaleProblem problem;
  WayBack way{loop};
  const int submap = mapper_.At(loop.query).submap;
  for (const KeyframeId id : mapper_.KeyframesOf(submap)) {
    const KeyframeState& state = mapper_.At(id).state;
    way.before.emplace(id, state);
    problem.keyframes.emplace(id, PoseScale{state.world_from_camera, state.log_scale});
  }
  for (const MapEdge& edge : mapper_.Edges()) {
    if (!problem.keyframes.contains(edge.first)) continue;
    auto& kept = edge.kind == EdgeKind::kGlobalLoop ? problem.earlier_loops : problem.connections;
    kept.emplace_back(edge.first, edge.second);
  }
  problem.loops.push_back({loop.query, loop.reference, goal});
  problem.anchor = mapper_.AnchorOf(submap);
  const PoseScaleResult solved = SolvePoseScaleGraph(problem, options_);
  if (solved.status != PoseScaleStatus::kConverged)
    return {LoopClosing::kRefused, StrCat("the pose-scale graph was not solved: ", solved.reason)};
  MapChange change;
  for (const auto& [id, place] : solved.keyframes) {
    if (id == problem.anchor) continue;  // it holds the map, and stays
    change.moves.emplace(id, KeyframeState{place.world_from_camera, place.log_scale, way.before.at(id).code});
  }
  return Commit(LoopClosing::kBalanced, std::move(change), std::move(way));
}

ClosedLoop MapChanges::Commit(LoopClosing how, MapChange change, WayBack way) {
  change.connects.push_back({way.loop.query, way.loop.reference, EdgeKind::kGlobalLoop});
  const SmootherSummary summary = Apply(change);
  ways_back_.push_back(std::move(way));
  return {how, "", summary.status == SmootherStatus::kStepDropped || summary.singular_cliques > 0};
}

// Ways back lie in the map as it was: what a change does to the map it does to them. As a whole they follow
// the first keyframe of theirs in it; what moves differently does so in its own frame.
SmootherSummary MapChanges::Apply(const MapChange& change) {
  std::set<int> changed;
  for (const auto& [id, state] : change.moves) changed.insert(mapper_.At(id).submap);
  for (WayBack& way : ways_back_) {
    std::optional<Sim3> whole;
    for (auto& [id, before] : way.before) {
      if (!changed.contains(mapper_.At(id).submap)) continue;
      const auto found = change.moves.find(id);
      const KeyframeState& from = mapper_.At(id).state;
      const KeyframeState& moved = found == change.moves.end() ? from : found->second;
      const Sim3 to = PlaceOf(moved);
      if (!whole) whole = to * PlaceOf(from).Inverse();
      const Sim3 rest = (*whole * PlaceOf(from)).Inverse() * to;
      before = StateAt(*whole * PlaceOf(before) * rest, before.code + moved.code - from.code);
    }
  }
  return mapper_.Apply(change);
}

MapChanges::WayBack MapChanges::TakeWayBack(const LoopPair& loop) {
  const auto found = std::find_if(ways_back_.begin(), ways_back_.end(),
                                  [&](const WayBack& way) { return way.loop == loop; });
  LUMEN_CHECK(found != ways_back_.end(), "no way back for the loop ", loop.query, " to ", loop.reference);
  WayBack way = std::move(*found);
  ways_back_.erase(found);
  return way;
}

void MapChanges::Forget(const LoopPair& loop) { TakeWayBack(loop); }

void MapChanges::Drop(KeyframeId retired) {
  for (WayBack& way : ways_back_) way.before.erase(retired);
}

std::vector<MapEdge> MapChanges::TakeOut(const LoopPair& loop) {
  const WayBack way = TakeWayBack(loop);
  std::vector<MapEdge> gone{{loop.query, loop.reference, EdgeKind::kGlobalLoop}};
  if (way.joined) {
    const std::vector<MapEdge> bridges = Part(way);
    gone.insert(gone.end(), bridges.begin(), bridges.end());
  } else {
    Unbalance(way);
  }
  mapper_.Settle(kSettling, 2);
  return gone;
}

void MapChanges::Unbalance(const WayBack& way) {
  MapChange change;
  change.disconnects.emplace_back(way.loop.query, way.loop.reference);
  const int submap = mapper_.At(way.loop.query).submap;
  if (!way.before.empty()) {
    const std::set<KeyframeId> part = AsSet(mapper_.KeyframesOf(submap));
    change.moves = way.before;
    Keep(part, change.moves);
    Follow(part, change.moves);
    // The map stays where it is held.
    const KeyframeId anchor = mapper_.AnchorOf(submap);
    const Sim3 home = PlaceOf(mapper_.At(anchor).state) * PlaceOf(change.moves.at(anchor)).Inverse();
    for (auto& [id, state] : change.moves) state = Moved(home, state);
  }
  NameParts(submap, change);
  Apply(change);
}

std::vector<MapEdge> MapChanges::Part(const WayBack& way) {
  const int submap = mapper_.At(way.loop.query).submap;
  const std::set<KeyframeId> side = JoinedSide(way);
  std::vector<MapEdge> gone;
  // Loops across the cut that bent the map first, the newest first: each leaves the map as it found it.
  std::vector<LoopPair> bent;
  std::vector<LoopPair> others;
  for (const WayBack& other : ways_back_) {
    if (!Bridges(other.loop.query, other.loop.reference, side)) continue;
    (other.joined || other.before.empty() ? others : bent).push_back(other.loop);
  }
  WayBack back = way;
  ways_back_.push_back(std::move(back));  // carried along by what follows
  for (auto loop = bent.rbegin(); loop != bent.rend(); ++loop) {
    Unbalance(TakeWayBack(*loop));
    gone.push_back({loop->query, loop->reference, EdgeKind::kGlobalLoop});
  }
  for (const LoopPair& loop : others) TakeWayBack(loop);
  back = TakeWayBack(way.loop);

  MapChange change;
  for (const MapEdge& edge : mapper_.Edges()) {
    if (!Bridges(edge.first, edge.second, side)) continue;
    change.disconnects.emplace_back(edge.first, edge.second);
    const bool is_the_loop =
        std::minmax(edge.first, edge.second) == std::minmax(way.loop.query, way.loop.reference);
    if (!is_the_loop && edge.kind != EdgeKind::kTemporal)
      gone.push_back({edge.second, edge.first, edge.kind});
  }
  change.moves = back.before;
  Keep(side, change.moves);
  Follow(side, change.moves);
  NameParts(submap, change);
  Apply(change);
  return gone;
}

std::map<KeyframeId, KeyframeId> MapChanges::Origins() const {
  std::map<KeyframeId, KeyframeId> origins;
  for (const KeyframeId id : mapper_.Ids()) {  // a parent comes before its children
    const auto parent = origins.find(mapper_.ParentOf(id));
    origins.emplace(id, parent == origins.end() ? id : parent->second);
  }
  return origins;
}

// Whatever was tracked against one side since belongs to it, and so does a third map by what it was joined
// by.
std::set<KeyframeId> MapChanges::JoinedSide(const WayBack& way) const {
  const auto origins = Origins();
  std::map<KeyframeId, bool> is_joined;  // by origin
  for (const auto& [id, before] : way.before) is_joined[origins.at(id)] = true;
  for (const KeyframeId origin : way.joined_to) is_joined.emplace(origin, false);
  const auto spread = [&](KeyframeId first, KeyframeId second) {
    const KeyframeId a = origins.at(first);
    const KeyframeId b = origins.at(second);
    if (is_joined.contains(a) == is_joined.contains(b)) return false;
    is_joined.contains(a) ? is_joined.emplace(b, is_joined.at(a)) : is_joined.emplace(a, is_joined.at(b));
    return true;
  };
  const auto spread_by_joins = [&] {
    return std::any_of(ways_back_.begin(), ways_back_.end(), [&](const WayBack& other) {
      return other.joined && spread(other.loop.query, other.loop.reference);
    });
  };
  const std::vector<MapEdge> edges = mapper_.Edges();
  const auto spread_by_edges = [&] {
    return std::any_of(edges.begin(), edges.end(),
                       [&](const MapEdge& edge) { return spread(edge.first, edge.second); });
  };
  while (spread_by_joins() || spread_by_edges()) {
  }
  std::set<KeyframeId> side;
  for (const KeyframeId id : mapper_.KeyframesOf(mapper_.At(way.loop.query).submap)) {
    if (is_joined.at(origins.at(id))) side.insert(id);
  }
  return side;
}

// What has no place in `moves` goes along with what it hangs on: a keyframe with the one it was tracked
// against, a map joined since with the keyframe it is connected to.
void MapChanges::Follow(const std::set<KeyframeId>& part, States& moves) const {
  const auto follow = [&](KeyframeId id, KeyframeId leader) {
    if (moves.contains(id) || !moves.contains(leader) || !part.contains(id)) return false;
    const Sim3 correction = PlaceOf(moves.at(leader)) * PlaceOf(mapper_.At(leader).state).Inverse();
    return moves.emplace(id, Moved(correction, mapper_.At(id).state)).second;
  };
  const auto follow_family = [&] {
    bool any = false;
    for (const KeyframeId id : part) {
      const KeyframeId parent = mapper_.ParentOf(id);
      if (parent >= 0) any = follow(id, parent) || follow(parent, id) || any;
    }
    return any;
  };
  const auto follow_neighbour = [&] {
    for (const KeyframeId id : part) {
      for (const KeyframeId neighbour : mapper_.Neighbours(id)) {
        if (follow(id, neighbour)) return true;
      }
    }
    return false;
  };
  while (follow_family() || follow_neighbour()) {
  }
}

void MapChanges::NameParts(int submap, MapChange& change) const {
  std::set<std::pair<KeyframeId, KeyframeId>> cut;
  for (const auto& pair : change.disconnects) cut.insert(std::minmax(pair.first, pair.second));
  std::set<int> names;
  for (const KeyframeId id : mapper_.Ids()) names.insert(mapper_.At(id).submap);
  std::set<KeyframeId> left = AsSet(mapper_.KeyframesOf(submap));
  const KeyframeId anchor = mapper_.AnchorOf(submap);
  while (!left.empty()) {
    std::vector<KeyframeId> part{*left.begin()};
    left.erase(left.begin());
    for (size_t i = 0; i < part.size(); ++i) {
      for (const KeyframeId next : mapper_.Neighbours(part[i])) {
        if (!cut.contains(std::minmax(part[i], next)) && left.erase(next) > 0) part.push_back(next);
      }
    }
    if (std::find(part.begin(), part.end(), anchor) != part.end()) continue;
    // The name its oldest keyframe was given first; a name nobody has, should that be taken.
    int name = mapper_.BornIn(part.front());
    if (names.contains(name)) name = std::min(0, *names.begin()) - 1;
    names.insert(name);
    for (const KeyframeId id : part) change.submaps[id] = name;
  }
}

}  // namespace lumen
