#include "lumen/slam/mapper.h"

#include <algorithm>

#include "lumen/base/error.h"
#include "lumen/factors/occlusion.h"
#include "lumen/factors/prior_factors.h"

namespace lumen {

namespace {

SmootherOptions WithThreads(SmootherOptions options, int threads) {
  options.threads = std::max(options.threads, threads);
  return options;
}

}  // namespace

Mapper::Mapper(const MappingOptions& options, int threads)
    : options_(options), smoother_(WithThreads(options.smoother, threads)) {}

void Mapper::AddFactor(FactorPtr factor, std::vector<FactorId>* goes_to) {
  change_.new_factors.push_back(std::move(factor));
  owners_.push_back(goes_to);
}

void Mapper::HoldInPlace(int submap, KeyframeId id) {
  Anchor& anchor = anchors_[submap];
  anchor.id = id;
  const KeyframeState& state = At(id).state;
  AddFactor(std::make_shared<PoseFactor>(PoseKey(id), state.world_from_camera, options_.anchor_weight),
            &anchor.factors);
  AddFactor(std::make_shared<ScaleFactor>(LogScaleKey(id), state.log_scale, options_.anchor_weight),
            &anchor.factors);
}

void Mapper::Start(KeyframeId id, std::shared_ptr<const Keyframe> keyframe, KeyframeState state, int submap) {
  Add(id, std::move(keyframe), std::move(state), submap);
  HoldInPlace(submap, id);
}

void Mapper::Add(KeyframeId id, std::shared_ptr<const Keyframe> keyframe, KeyframeState state, int submap) {
  LUMEN_CHECK(!Contains(id));
  const int bases = keyframe->depth.NumBases();
  if (state.code.size() == 0) state.code = Eigen::VectorXd::Zero(bases);
  change_.new_values.Insert(PoseKey(id), state.world_from_camera);
  change_.new_values.Insert(LogScaleKey(id), state.log_scale);
  change_.new_values.Insert(CodeKey(id), state.code);
  AddFactor(std::make_shared<CodeFactor>(CodeKey(id), Eigen::VectorXd::Zero(bases),
                                         options_.code_weight * RelativeBasisSize(*keyframe)),
            nullptr);
  const auto sample = [&](int count) {
    return MakeKeyframeSamples(
        keyframe, SampleKeypoints(keyframe->frame->view->eroded_mask, count, static_cast<uint64_t>(id) + 1),
        static_cast<int>(options_.feature_metric.level_weights.size()));
  };
  const auto samples = sample(options_.samples);
  const auto few_samples = sample(options_.geometric_samples);
  keyframes_.emplace(id, Entry{{std::move(keyframe), std::move(state), submap}, samples, few_samples, {}});
}

void Mapper::AddDirection(KeyframeId source, KeyframeId target, std::vector<FactorId>& goes_to) {
  const Entry& from = keyframes_.at(source);
  const Entry& to = keyframes_.at(target);
  const PairVariables variables = PairVariables::World(source, target);
  const KeyframeState& state = to.entry.state;
  DepthImage seen;
  if (options_.hidden_margin > 0) seen = ComputeDepth(to.entry.keyframe->depth, state.log_scale, state.code);
  const auto hidden = [&](const KeyframeSamples& samples) -> std::shared_ptr<const HiddenSamples> {
    if (!(options_.hidden_margin > 0)) return nullptr;
    return std::make_shared<HiddenSamples>(FindHidden(samples, from.entry.state,
                                                      *to.entry.keyframe->frame->view,
                                                      state.world_from_camera, seen, options_.hidden_margin));
  };
  if (options_.use_feature_metric) {
    AddFactor(std::make_shared<FeatureMetricFactor>(variables.WithoutTargetDepth(), from.samples,
                                                    to.entry.keyframe->frame, options_.feature_metric,
                                                    hidden(*from.samples)),
              &goes_to);
  }
  AddFactor(std::make_shared<GeometricConsistencyFactor>(variables, from.few_samples, to.entry.keyframe,
                                                         options_.geometric, hidden(*from.few_samples)),
            &goes_to);
}

void Mapper::Connect(KeyframeId a, KeyframeId b, EdgeKind kind) {
  LUMEN_CHECK(a != b && Contains(a) && Contains(b));
  LUMEN_CHECK(!Connected(a, b));
  Edge& edge = edges_[Ordered(a, b)];
  edge.kind = kind;
  AddDirection(a, b, edge.factors);
  AddDirection(b, a, edge.factors);
  keyframes_.at(a).neighbours.push_back(b);
  keyframes_.at(b).neighbours.push_back(a);
}

void Mapper::Disconnect(KeyframeId a, KeyframeId b) {
  if (!change_.new_factors.empty()) Update();  // the edge's factors have to have their numbers
  const auto found = edges_.find(Ordered(a, b));
  LUMEN_CHECK(found != edges_.end());
  change_.removed_factors.insert(change_.removed_factors.end(), found->second.factors.begin(),
                                 found->second.factors.end());
  edges_.erase(found);
  std::erase(keyframes_.at(a).neighbours, b);
  std::erase(keyframes_.at(b).neighbours, a);
}

void Mapper::Move(const std::map<KeyframeId, PoseScale>& keyframes) {
  if (!change_.new_factors.empty() || change_.new_values.Size() > 0) Update();
  for (const auto& [id, place] : keyframes) {
    KeyframeState& state = keyframes_.at(id).entry.state;
    state.world_from_camera = place.world_from_camera;
    state.log_scale = place.log_scale;
    change_.reinitialized.Insert(PoseKey(id), place.world_from_camera);
    change_.reinitialized.Insert(LogScaleKey(id), place.log_scale);
  }
  Update();
}

void Mapper::Merge(int submap, int into) {
  if (!change_.new_factors.empty()) Update();
  const auto anchor = anchors_.find(submap);
  LUMEN_CHECK(anchor != anchors_.end() && submap != into);
  change_.removed_factors.insert(change_.removed_factors.end(), anchor->second.factors.begin(),
                                 anchor->second.factors.end());
  anchors_.erase(anchor);
  for (auto& [id, keyframe] : keyframes_) {
    if (keyframe.entry.submap == submap) keyframe.entry.submap = into;
  }
}

void Mapper::Split(const std::set<KeyframeId>& keyframes, int submap, KeyframeId anchor) {
  for (const KeyframeId id : keyframes) keyframes_.at(id).entry.submap = submap;
  HoldInPlace(submap, anchor);
}

SmootherSummary Mapper::Update() {
  const SmootherChange change = std::exchange(change_, {});
  const std::vector<std::vector<FactorId>*> owners = std::exchange(owners_, {});
  SmootherSummary summary = smoother_.Update(change);
  for (size_t i = 0; i < owners.size(); ++i) {
    if (owners[i] != nullptr) owners[i]->push_back(summary.new_factor_ids[i]);
  }
  ReadStates();
  return summary;
}

int Mapper::Settle(int most, int settled) {
  int quiet = 0;
  for (int step = 0; step < most; ++step) {
    quiet = Update().relinearized_variables == 0 ? quiet + 1 : 0;
    if (quiet >= settled) return step + 1;
  }
  return most;
}

void Mapper::ReadStates() {
  for (auto& [id, keyframe] : keyframes_) {
    if (!smoother_.Contains(PoseKey(id))) continue;
    KeyframeState& state = keyframe.entry.state;
    state.world_from_camera = std::get<Rigid3>(smoother_.Estimate(PoseKey(id)));
    state.log_scale = std::get<double>(smoother_.Estimate(LogScaleKey(id)));
    state.code = std::get<Eigen::VectorXd>(smoother_.Estimate(CodeKey(id)));
  }
}

LoopSide Mapper::Side(KeyframeId id) const {
  const Entry& keyframe = keyframes_.at(id);
  return {id, keyframe.entry.keyframe, keyframe.entry.state};
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

std::shared_ptr<const MapSnapshot> Mapper::MakeSnapshot() {
  auto snapshot = std::make_shared<MapSnapshot>();
  snapshot->version = ++version_;
  for (const auto& [id, keyframe] : keyframes_)
    snapshot->keyframes.emplace_hint(snapshot->keyframes.end(), id, keyframe.entry);
  snapshot->edges = Edges();
  return snapshot;
}

}  // namespace lumen
