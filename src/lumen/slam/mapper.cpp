#include "lumen/slam/mapper.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"
#include "lumen/factors/edge_factor.h"
#include "lumen/factors/occlusion.h"
#include "lumen/factors/prior_factors.h"
#include "lumen/slam/frame_doubt.h"

namespace lumen {

namespace {

constexpr size_t kUnpacked = 12;  // keyframes whose features are at hand; 1 MB each

SmootherOptions WithThreads(SmootherOptions options, int threads) {
  options.threads = std::max(options.threads, threads);
  return options;
}

}  // namespace

Mapper::Mapper(const MappingOptions& options, int threads)
    : options_(options),
      smoother_(WithThreads(options.smoother, threads)),
      unpacked_(std::make_shared<UnpackedFeatures>(kUnpacked)),
      book_(options.points) {}

void Mapper::AddFactor(FactorPtr factor, std::vector<FactorId>* goes_to) {
  change_.new_factors.push_back(std::move(factor));
  owners_.push_back(goes_to);
}

void Mapper::HoldInPlace(int submap, KeyframeId id) {
  Anchor& anchor = anchors_[submap];
  anchor.id = id;
  const Sim3 place = ValueOf(id).world_from_keyframe;
  AddFactor(std::make_shared<PoseFactor>(KeyframeKey(id), Rigid3(place.Rotation(), place.Translation()),
                                         options_.anchor_weight),
            &anchor.factors);
  AddFactor(std::make_shared<ScaleFactor>(KeyframeKey(id), std::log(place.Scale()), options_.anchor_weight),
            &anchor.factors);
}

KeyframeValue Mapper::ValueOf(KeyframeId id) const {
  const Entry& keyframe = keyframes_.at(id);
  const KeyframeState& state = keyframe.entry.state;
  return MakeKeyframeValue(state.world_from_camera, state.log_scale, state.code, keyframe.Side(id).unit);
}

void Mapper::Start(KeyframeId id, std::shared_ptr<const Keyframe> keyframe, KeyframeState state, int submap) {
  Add(id, std::move(keyframe), std::move(state), submap, -1);
  HoldInPlace(submap, id);
}

void Mapper::Add(KeyframeId id, std::shared_ptr<const Keyframe> keyframe, KeyframeState state, int submap,
                 KeyframeId parent) {
  LUMEN_CHECK(!Contains(id));
  const int bases = keyframe->depth.NumBases();
  if (state.code.size() == 0) state.code = Eigen::VectorXd::Zero(bases);
  const auto sample = [&](int count) {
    return MakeKeyframeSamples(
        keyframe, SampleKeypoints(keyframe->frame->view->eroded_mask, count, static_cast<uint64_t>(id) + 1),
        static_cast<int>(options_.feature_metric.level_weights.size()));
  };
  const double code_weight = options_.code_weight * RelativeBasisSize(*keyframe);
  const auto samples = sample(options_.samples);
  const auto few_samples = sample(options_.geometric_samples);
  keyframes_.emplace(
      id, Entry{{std::move(keyframe), std::move(state), submap}, samples, few_samples, parent, submap});
  book_.Add(id, *At(id).keyframe, samples->MeanDepth());
  fresh_.push_back(id);
  keyframes_.at(id).touched = ++added_;
  AddFactor(std::make_shared<CodeFactor>(KeyframeKey(id), Eigen::VectorXd::Zero(bases), code_weight),
            &keyframes_.at(id).prior);
  change_.new_values.Insert(KeyframeKey(id), ValueOf(id));
}

std::shared_ptr<const HiddenSamples> Mapper::Hide(const KeyframeSamples& samples, const KeyframeState& from,
                                                  const MapKeyframe& to, const DepthImage& seen,
                                                  Hidden& count) const {
  if (!(options_.hidden_margin > 0)) return nullptr;
  auto hidden = std::make_shared<HiddenSamples>(FindHidden(
      samples, from, *to.keyframe->frame->view, to.state.world_from_camera, seen, options_.hidden_margin));
  count.samples += static_cast<int64_t>(hidden->size());
  count.hidden += std::count(hidden->begin(), hidden->end(), true);
  return hidden;
}

void Mapper::AddDirection(KeyframeId source, KeyframeId target, FactorGraph& parts, Hidden& hidden) const {
  const Entry& from = keyframes_.at(source);
  const MapKeyframe& to = keyframes_.at(target).entry;
  const PairVariables variables = PairVariables::World(from.Side(source), keyframes_.at(target).Side(target));
  DepthImage seen;
  if (options_.hidden_margin > 0) seen = ComputeDepth(to.keyframe->depth, to.state.log_scale, to.state.code);
  const auto hide = [&](const KeyframeSamples& samples) {
    return Hide(samples, from.entry.state, to, seen, hidden);
  };
  if (options_.use_feature_metric) {
    parts.push_back(std::make_shared<FeatureMetricFactor>(variables, from.samples, to.keyframe->frame,
                                                          options_.feature_metric, hide(*from.samples),
                                                          unpacked_));
  }
  parts.push_back(std::make_shared<GeometricConsistencyFactor>(variables, from.few_samples, to.keyframe,
                                                               options_.geometric, hide(*from.few_samples)));
}

void Mapper::Connect(KeyframeId a, KeyframeId b, EdgeKind kind) {
  LUMEN_CHECK(a != b && Contains(a) && Contains(b));
  LUMEN_CHECK(!Connected(a, b));
  Edge& edge = edges_[Ordered(a, b)];
  edge.kind = kind;
  FactorGraph parts;
  AddDirection(a, b, parts, edge.hidden);
  AddDirection(b, a, parts, edge.hidden);
  AddFactor(std::make_shared<EdgeFactor>(KeyframeKey(a), KeyframeKey(b), std::move(parts)), &edge.factors);
  book_.Connect(a, At(a), b, At(b));
  for (const auto& [id, other] : {Pair{a, b}, Pair{b, a}}) {
    Entry& keyframe = keyframes_.at(id);
    keyframe.neighbours.push_back(other);
    keyframe.touched = added_;
  }
}

void Mapper::Remove(const std::vector<FactorId>& factors) {
  change_.removed_factors.insert(change_.removed_factors.end(), factors.begin(), factors.end());
}

void Mapper::Disconnect(KeyframeId a, KeyframeId b) {
  const auto found = edges_.find(Ordered(a, b));
  LUMEN_CHECK(found != edges_.end());
  Remove(found->second.factors);
  edges_.erase(found);
  book_.Disconnect(a, b);
  std::erase(keyframes_.at(a).neighbours, b);
  std::erase(keyframes_.at(b).neighbours, a);
}

// An anchor that left its sub-map, or was moved, lets go; a sub-map without one is held by its first
// keyframe.
void Mapper::AnchorSubmaps(const std::map<KeyframeId, KeyframeState>& moved) {
  std::map<int, KeyframeId> held;
  for (auto anchor = anchors_.begin(); anchor != anchors_.end();) {
    const auto& [submap, hold] = *anchor;
    const bool is_there = At(hold.id).submap == submap;
    if (is_there) held.emplace(submap, hold.id);
    if (is_there && !moved.contains(hold.id)) {
      ++anchor;
    } else {
      Remove(hold.factors);
      anchor = anchors_.erase(anchor);
    }
  }
  for (const auto& [id, keyframe] : keyframes_) held.emplace(keyframe.entry.submap, id);
  for (const auto& [submap, id] : held) {
    if (!anchors_.contains(submap)) HoldInPlace(submap, id);
  }
}

// Factors have to have their numbers before they can go.
void Mapper::FinishPending() {
  if (!change_.new_factors.empty() || change_.new_values.Size() > 0) Update();
}

void Mapper::Retire(KeyframeId id, KeyframeId host) {
  LUMEN_CHECK(Contains(id) && Contains(host) && id != host && !IsAnchor(id));
  const std::vector<KeyframeId> neighbours = Neighbours(id);
  const bool is_pending = keyframes_.at(id).prior.empty() ||
                          std::any_of(neighbours.begin(), neighbours.end(), [&](KeyframeId other) {
                            return edges_.at(Ordered(id, other)).factors.empty();
                          });
  if (is_pending) FinishPending();
  for (const KeyframeId neighbour : neighbours) Disconnect(id, neighbour);
  Remove(keyframes_.at(id).prior);
  Remove(keyframes_.at(id).points);
  book_.Remove(id);
  change_.removed_variables.push_back(KeyframeKey(id));
  MapKeyframe entry = At(id);
  const Sim3 host_from_keyframe = PlaceOf(At(host).state).Inverse() * PlaceOf(entry.state);
  entry.keyframe = KeepDepthOnly(*entry.keyframe, entry.state.code);
  entry.state.code.resize(0);
  entry.host = host;
  for (auto& [guest, retired] : retired_) {
    if (retired.entry.host != id) continue;
    retired.entry.host = host;
    retired.host_from_keyframe = host_from_keyframe * retired.host_from_keyframe;
  }
  retired_.emplace(id, Retired{std::move(entry), host_from_keyframe});
  keyframes_.erase(id);
}

void Mapper::AddRetired(KeyframeId id, const MapKeyframe& keyframe) {
  LUMEN_CHECK(!Contains(id) && Contains(keyframe.host));
  retired_.emplace(id,
                   Retired{keyframe, PlaceOf(At(keyframe.host).state).Inverse() * PlaceOf(keyframe.state)});
}

KeyframeId Mapper::HostOf(KeyframeId id) const {
  const auto found = retired_.find(id);
  return found == retired_.end() ? id : found->second.entry.host;
}

KeyframeState Mapper::StateOf(KeyframeId id) const {
  const auto found = retired_.find(id);
  if (found == retired_.end()) return At(id).state;
  return StateAt(PlaceOf(At(found->second.entry.host).state) * found->second.host_from_keyframe, {});
}

bool Mapper::IsAnchor(KeyframeId id) const {
  return std::any_of(anchors_.begin(), anchors_.end(),
                     [&](const auto& anchor) { return anchor.second.id == id; });
}

SmootherSummary Mapper::Apply(const MapChange& change) {
  FinishPending();
  for (const auto& [a, b] : change.disconnects) Disconnect(a, b);
  for (const auto& [id, submap] : change.submaps) keyframes_.at(id).entry.submap = submap;
  for (const auto& [id, state] : change.moves) {
    keyframes_.at(id).entry.state = state;
    change_.reinitialized.Insert(KeyframeKey(id), ValueOf(id));
  }
  AnchorSubmaps(change.moves);
  for (const MapEdge& edge : change.connects) Connect(edge.first, edge.second, edge.kind);
  return Update();
}

void Mapper::HoldSettled() {
  if (options_.settle_after <= 0) return;
  for (auto& [id, keyframe] : keyframes_) {
    const bool settled = added_ - keyframe.touched >= options_.settle_after;
    if (settled == keyframe.settled) continue;
    keyframe.settled = settled;
    (settled ? change_.held : change_.released).push_back(KeyframeKey(id));
  }
}

void Mapper::ReleaseAll() {
  for (auto& [id, keyframe] : keyframes_) keyframe.touched = added_;
}

SmootherSummary Mapper::Update() { return UpdateWith(options_.evaluations); }

void Mapper::SeePointsAnew() {
  for (const auto& [first, second] : book_.Pairs()) book_.Connect(first, At(first), second, At(second));
}

// Points that were seen anew, or are not any more: their keyframe's factor is made again.
void Mapper::RenewPoints() {
  for (const KeyframeId id : std::exchange(fresh_, {})) {
    if (!Contains(id)) continue;
    auto at = keyframes_.find(id);
    for (int back = 0; back < options_.points.reach && at != keyframes_.begin(); ++back) {
      --at;
      if (at->second.entry.submap == At(id).submap && !Connected(id, at->first))
        book_.Connect(id, At(id), at->first, at->second.entry);
    }
  }
  for (const KeyframeId id : book_.TakeChanged()) {
    std::vector<FactorId>& factors = keyframes_.at(id).points;
    Remove(factors);
    factors.clear();
    if (FactorPtr factor = book_.MakeFactor(id)) AddFactor(std::move(factor), &factors);
  }
}

SmootherSummary Mapper::UpdateWith(int most_evaluations) {
  RenewPoints();
  HoldSettled();
  const SmootherChange change = std::exchange(change_, {});
  const std::vector<std::vector<FactorId>*> owners = std::exchange(owners_, {});
  SmootherSummary summary = smoother_.Update(change, most_evaluations);
  for (size_t i = 0; i < owners.size(); ++i) {
    if (owners[i] != nullptr) owners[i]->push_back(summary.new_factor_ids[i]);
  }
  trouble_.shortened += summary.status == SmootherStatus::kStepShortened ? 1 : 0;
  trouble_.dropped += summary.status == SmootherStatus::kStepDropped ? 1 : 0;
  trouble_.singular += summary.singular_cliques;
  ReadStates();
  return summary;
}

void Mapper::CompareDepth(KeyframeId id) {
  MapKeyframe& entry = keyframes_.at(id).entry;
  const MapKeyframe* earlier = nullptr;
  int back = 0;
  for (auto at = keyframes_.find(id); at != keyframes_.begin() && back < kComparedKeyframes;) {
    --at;
    if (at->second.entry.submap != entry.submap) continue;
    earlier = &at->second.entry;
    ++back;
  }
  if (earlier != nullptr) entry.disagreement = Disagreement(*earlier, entry);
}

int Mapper::Settle(int most, int settled) {
  int quiet = 0;
  for (int step = 0; step < most; ++step) {
    quiet = UpdateWith(0).strained_factors == 0 ? quiet + 1 : 0;
    if (quiet >= settled) return step + 1;
  }
  return most;
}

void Mapper::ReadStates() {
  for (auto& [id, keyframe] : keyframes_) {
    const KeyframeValue& value = smoother_.Estimate().Keyframe(KeyframeKey(id));
    const Sim3& place = value.world_from_keyframe;
    keyframe.entry.state = {Rigid3(place.Rotation(), place.Translation()), keyframe.Side(id).LogScale(value),
                            value.code};
  }
}

LoopSide Mapper::Side(KeyframeId id) const {
  const Entry& keyframe = keyframes_.at(id);
  return {id, keyframe.entry.keyframe, keyframe.entry.state};
}

Overlap Mapper::OverlapByMap(KeyframeId from, const DepthImage& depth, KeyframeId to) const {
  const MapKeyframe& source = At(from);
  const MapKeyframe& target = At(to);
  return MeasureOverlap(depth, *source.keyframe->frame->view, *target.keyframe->frame->view,
                        target.state.world_from_camera.Inverse() * source.state.world_from_camera);
}

std::vector<MapEdge> Mapper::Edges() const {
  std::vector<MapEdge> edges;
  for (const auto& [pair, edge] : edges_) edges.push_back({pair.first, pair.second, edge.kind});
  return edges;
}

std::vector<KeyframeId> Mapper::Neighbours(KeyframeId id) const { return keyframes_.at(id).neighbours; }

std::vector<KeyframeId> Mapper::KeyframesOf(int submap) const {
  std::vector<KeyframeId> ids;
  for (const auto& [id, keyframe] : keyframes_) {
    if (keyframe.entry.submap == submap) ids.push_back(id);
  }
  return ids;
}

std::vector<KeyframeId> Mapper::Ids() const {
  std::vector<KeyframeId> ids;
  ids.reserve(keyframes_.size());
  for (const auto& [id, keyframe] : keyframes_) ids.push_back(id);
  return ids;
}

std::shared_ptr<const MapSnapshot> Mapper::MakeSnapshot() {
  auto snapshot = std::make_shared<MapSnapshot>();
  snapshot->version = ++version_;
  for (const auto& [id, keyframe] : keyframes_)
    snapshot->keyframes.emplace_hint(snapshot->keyframes.end(), id, keyframe.entry);
  for (const auto& [id, retired] : retired_) {
    MapKeyframe& entry = snapshot->keyframes.emplace(id, retired.entry).first->second;
    entry.state = StateOf(id);
    entry.submap = At(entry.host).submap;
  }
  snapshot->edges = Edges();
  return snapshot;
}

}  // namespace lumen
