#include "lumen/slam/back_end.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"

namespace lumen {

KeyframeState PlaceRequest(const KeyframeRequest& request, const KeyframeState* reference) {
  KeyframeState state;
  state.code = Eigen::VectorXd::Zero(request.keyframe->depth.NumBases());
  state.log_scale = request.log_scale;
  if (reference == nullptr) return state;
  const double growth = reference->log_scale - request.reference_log_scale;
  state.log_scale += growth;
  state.world_from_camera =
      reference->world_from_camera * Rigid3(request.reference_from_camera.Rotation(),
                                            std::exp(growth) * request.reference_from_camera.Translation());
  return state;
}

namespace {

// Maps on disk do not say what a keyframe was tracked against: most likely its last neighbour before it.
KeyframeId ParentIn(const MapSnapshot& map, KeyframeId id) {
  KeyframeId parent = -1;
  for (const MapEdge& edge : map.edges) {
    if (edge.kind == EdgeKind::kTemporal && std::max(edge.first, edge.second) == id)
      parent = std::max(parent, std::min(edge.first, edge.second));
  }
  return parent;
}

// Whether another step would move nothing worth the time: what is strained a little waits for the next
// keyframe.
bool IsQuiet(const SmootherSummary& step) {
  constexpr double kStill = 2e-3;  // tangents: shares of a keyframe's mean depth, radians
  return step.strained_factors == 0 || step.largest_step < kStill;
}

}  // namespace

BackEnd::BackEnd(const SlamOptions& options)
    : options_(options),
      mapper_(options.mapping, options.Threads()),
      loops_(options.loop, mapper_, options.Threads()),
      culler_(options.map, options.keyframe, mapper_, loops_),
      snapshot_(std::make_shared<MapSnapshot>()) {}

void BackEnd::Add(const KeyframeRequest& request) {
  if (request.reference < 0) {
    mapper_.Start(request.id, request.keyframe, PlaceRequest(request, nullptr), request.submap);
  } else {
    // Since the request was made a sub-map may have been joined or split, or a keyframe have retired.
    const KeyframeState lies = mapper_.StateOf(request.reference);
    const KeyframeId reference = mapper_.HostOf(request.reference);
    const int submap = mapper_.At(reference).submap;
    mapper_.Add(request.id, request.keyframe, PlaceRequest(request, &lies), submap, reference);
    mapper_.Connect(request.id, reference, EdgeKind::kTemporal);
    for (const KeyframeId connection : request.connections) {
      const KeyframeId id = mapper_.HostOf(connection);
      if (mapper_.At(id).submap == submap && !mapper_.Connected(request.id, id))
        mapper_.Connect(request.id, id, EdgeKind::kTemporal);
    }
  }
  {
    const std::lock_guard lock(mutex_);
    loops_.AddWords(request.id, request.words);
  }
  for (int i = 0; i < options_.mapping.updates; ++i) mapper_.Update();
  loops_.Audit(request.id);
  loops_.Search(request.id);
  for (const KeyframeId id : culler_.Cull(request.id)) {
    const std::lock_guard lock(mutex_);
    loops_.Drop(id);
  }
  quiet_ = IsQuiet(mapper_.Update());
  mapper_.CompareDepth(request.id);
  Publish();
}

void BackEnd::Restore(const MapSnapshot& map, const std::map<KeyframeId, BagOfWords>& words) {
  LUMEN_CHECK(mapper_.Size() == 0, "a map can be restored only into an empty one");
  std::set<int> anchored;
  for (const auto& [id, entry] : map.keyframes) {
    if (!entry.IsActive()) continue;
    if (anchored.insert(entry.submap).second) {
      mapper_.Start(id, entry.keyframe, entry.state, entry.submap);
    } else {
      mapper_.Add(id, entry.keyframe, entry.state, entry.submap, ParentIn(map, id));
    }
    const auto bag = words.find(id);
    const std::lock_guard lock(mutex_);
    loops_.AddWords(id, bag == words.end() ? BagOfWords{} : bag->second);
  }
  for (const MapEdge& edge : map.edges) mapper_.Connect(edge.first, edge.second, edge.kind);
  for (const auto& [id, entry] : map.keyframes) {
    if (!entry.IsActive()) mapper_.AddRetired(id, entry);
  }
  quiet_ = IsQuiet(mapper_.Update());
  Publish();
}

bool BackEnd::Improve() {
  if (quiet_) return false;
  quiet_ = IsQuiet(mapper_.Update());
  Publish();
  return true;
}

void BackEnd::Refine() {
  constexpr size_t kAtATime = 16;  // loops whose ways back are kept until they have proved themselves
  if (mapper_.Size() == 0) return;
  const auto settle = [&] {
    mapper_.Settle(options_.mapping.refine_updates, options_.mapping.refine_settled);
  };
  const auto audit = [&] {
    settle();
    if (loops_.AuditByNeighbours() > 0) settle();
  };
  mapper_.ReleaseAll();
  audit();
  // Loops that only the finished map can show.
  const auto finished = mapper_.MakeSnapshot();
  for (const auto& [id, keyframe] : finished->keyframes) {
    if (!keyframe.IsActive()) continue;
    loops_.Search(id);
    if (loops_.Unproved() >= kAtATime) audit();
  }
  audit();
  mapper_.SeePointsAnew();
  settle();
  quiet_ = true;
  Publish();
}

void BackEnd::InjectLoop(KeyframeId query, KeyframeId reference, const PairEvidence& evidence) {
  loops_.Close(query, reference, evidence, 0);
  quiet_ = false;
  Publish();
}

MapCertainty BackEnd::Certainty(int submap, const FrameLog& frames) const {
  return MeasureCertainty(mapper_, *Snapshot(), submap, frames, options_.certainty, options_.Threads());
}

void BackEnd::Publish() {
  auto snapshot = mapper_.MakeSnapshot();
  std::vector<LoopEvent> events = loops_.TakeEvents();
  const std::lock_guard lock(mutex_);
  snapshot_ = std::move(snapshot);
  trouble_ = mapper_.Trouble();
  events_.insert(events_.end(), std::make_move_iterator(events.begin()),
                 std::make_move_iterator(events.end()));
}

std::shared_ptr<const MapSnapshot> BackEnd::Snapshot() const {
  const std::lock_guard lock(mutex_);
  return snapshot_;
}

MapTrouble BackEnd::Trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

std::vector<LoopEvent> BackEnd::TakeEvents() {
  const std::lock_guard lock(mutex_);
  return std::exchange(events_, {});
}

std::map<KeyframeId, BagOfWords> BackEnd::Words() const {
  const auto snapshot = Snapshot();
  std::map<KeyframeId, BagOfWords> words;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, keyframe] : snapshot->keyframes) {
    if (keyframe.IsActive() && loops_.Index().Contains(id)) words.emplace(id, loops_.Index().Words(id));
  }
  return words;
}

std::vector<PlaceScore> BackEnd::AskPlaces(const BagOfWords& words, size_t most) const {
  const std::lock_guard lock(mutex_);
  return loops_.Index().Ask(words, most);
}

}  // namespace lumen
