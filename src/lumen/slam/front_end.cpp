#include "lumen/slam/front_end.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/text.h"

namespace lumen {

namespace {

std::shared_ptr<const Keyframe> MakeKeyframe(const LiveFrame& live, DepthBasis basis) {
  const RgbImage fine = live.fine ? live.fine() : RgbImage();
  return std::make_shared<const Keyframe>(
      Keyframe{PackFrame(live.frame), std::move(basis), fine.On(DiskMemory::Instance())});
}

// The log-scale that makes the median depth one.
double UnitLogScale(const DepthBasis& basis, const Mask& mask) {
  std::vector<float> depths;
  for (size_t i = 0; i < mask.Size(); ++i) {
    if (mask.Data()[i] != 0 && basis.average.Data()[i] > 0) depths.push_back(basis.average.Data()[i]);
  }
  if (depths.empty()) return 0;
  const auto middle = depths.begin() + static_cast<int64_t>(depths.size() / 2);
  std::nth_element(depths.begin(), middle, depths.end());
  return -std::log(static_cast<double>(*middle));
}

// The last poses by the present map; poses of different sub-maps do not go together.
Motion RecentMotion(const FrameLog& frames, const MapSnapshot& map) {
  const auto moment = [&](const PlacedFrame& frame) -> std::optional<Motion::Moment> {
    const auto pose = LocateFrame(frame, map);
    if (!pose) return std::nullopt;
    return Motion::Moment{frame.time, *pose};
  };
  Motion motion;
  if (frames.empty()) return motion;
  motion.last = moment(frames.back());
  if (!motion.last || frames.size() < 2) return motion;
  const PlacedFrame& before = frames[frames.size() - 2];
  if (before.reference < 0) return motion;
  if (map.keyframes.at(before.reference).submap != map.keyframes.at(frames.back().reference).submap)
    return motion;
  motion.before_last = moment(before);
  return motion;
}

TrackingOptions WithThreads(TrackingOptions options, int threads) {
  int& own = options.alignment.feature_metric.threads;
  own = std::max(own, threads);
  return options;
}

}  // namespace

FrontEnd::FrontEnd(const SlamOptions& options, std::shared_ptr<const Vocabulary> vocabulary,
                   AskPlaces ask_places)
    : options_(options),
      vocabulary_(std::move(vocabulary)),
      ask_places_(std::move(ask_places)),
      tracker_(WithThreads(options.tracking, options.TrackingThreads())),
      relocaliser_(options.relocalisation, options.tracking),
      habits_(options.keyframe, options.tracking.matching.depth_noise) {}

BagOfWords FrontEnd::Describe(const Frame& frame) const {
  if (vocabulary_ == nullptr) return {};
  return vocabulary_->Describe(frame.features.descriptors, frame.view->eroded_mask);
}

void FrontEnd::Restore(const MapSnapshot& map) {
  LUMEN_CHECK(frames_.empty() && !map.keyframes.empty());
  const auto& [newest, keyframe] = *map.keyframes.rbegin();
  reference_ = keyframe.IsActive() ? newest : keyframe.host;
  next_id_ = newest + 1;
  for (const auto& [id, entry] : map.keyframes) submaps_ = std::max(submaps_, entry.submap + 1);
  lost_ = true;
}

// What was published, and what is on its way.
MapSnapshot FrontEnd::Overlay(const MapSnapshot& published) {
  std::erase_if(pending_, [&](const KeyframeRequest& r) { return published.keyframes.contains(r.id); });
  MapSnapshot map = published;
  for (const KeyframeRequest& request : pending_) {
    const auto reference = map.keyframes.find(request.reference);
    const bool starts = reference == map.keyframes.end();
    const KeyframeState state = PlaceRequest(request, starts ? nullptr : &reference->second.state);
    map.keyframes[request.id] = {request.keyframe, state, starts ? request.submap : reference->second.submap};
  }
  return map;
}

TrackResult FrontEnd::Place(const LiveFrame& live, const MapSnapshot& map, const BagOfWords& words) {
  if (!lost_) {
    TrackResult tracked = tracker_.Track(live, map, reference_, RecentMotion(frames_, map));
    // A blurred frame or two may be weak; a camera that stays so is somewhere else.
    weak_in_a_row_ = tracked.status == TrackStatus::kWeak ? weak_in_a_row_ + 1 : 0;
    if (weak_in_a_row_ > options_.tracking.most_weak) tracked.status = TrackStatus::kLost;
    return tracked;
  }
  weak_in_a_row_ = 0;
  std::vector<KeyframeId> places{reference_};
  for (const PlaceScore& place :
       ask_places_(words, static_cast<size_t>(options_.relocalisation.candidates))) {
    if (place.id != reference_) places.push_back(place.id);
  }
  return relocaliser_.Relocalise(live, map, places);
}

void FrontEnd::Record(const FrameResult& result, KeyframeId reference, const Rigid3& reference_from_camera,
                      double reference_log_scale) {
  frames_.push_back({result.index, result.time, reference, reference_from_camera, reference_log_scale});
}

FrameResult FrontEnd::Skip(const InputFrame& frame, const std::string& fault) {
  FrameResult result;
  result.index = frame.index;
  result.time = frame.time;
  result.track.status = TrackStatus::kLost;
  result.track.reason = fault;
  if (reference_ >= 0) lost_ = true;
  last_lost_.reset();
  doubt_.NoteLost();
  habits_.NoteFrame(false);
  Record(result, -1, {}, 0);
  return result;
}

KeyframeRequest FrontEnd::StartMap(const LiveFrame& live, const DepthBasis& basis, BagOfWords words,
                                   Step& step) {
  KeyframeRequest request;
  request.id = next_id_++;
  request.submap = submaps_++;
  request.log_scale = UnitLogScale(basis, live.frame->view->eroded_mask);
  request.keyframe = MakeKeyframe(live, basis);
  request.words = std::move(words);
  step.result.track = {};
  step.result.track.status = TrackStatus::kStarted;
  step.result.track.reason = request.submap == 0 ? "first frame of the map" : "a new sub-map";
  return request;
}

std::vector<KeyframeId> FrontEnd::ChooseConnections(const LiveFrame& live, const MapSnapshot& map,
                                                    const TrackResult& tracked) {
  std::vector<KeyframeId> chosen;
  const int submap = map.keyframes.at(tracked.reference).submap;
  PairRegistrationOptions matching = options_.tracking.matching;
  matching.depth_noise = habits_.DepthNoise();  // as for the reference, with whose matches these are compared
  const auto agreeing = [&](const MapKeyframe& keyframe, KeyframeId id) {
    const DepthImage depth =
        ComputeDepth(keyframe.keyframe->depth, keyframe.state.log_scale, keyframe.state.code);
    return RegisterPair({keyframe.keyframe->frame.get(), depth}, {live.frame.get(), live.AverageDepth()},
                        matching, static_cast<uint64_t>(id) + 1)
        .InlierRatio();
  };
  // What was foreseen was not asked whether it agrees in space.
  const double reference_agreeing = tracked.foreseen
                                        ? agreeing(map.keyframes.at(tracked.reference), tracked.reference)
                                        : tracked.InlierRatio();
  int tries = 0;
  for (auto id = visited_.rbegin(); id != visited_.rend(); ++id) {
    if (static_cast<int>(chosen.size()) + 1 >= options_.keyframe.max_connections) break;
    if (*id == tracked.reference || std::find(chosen.begin(), chosen.end(), *id) != chosen.end()) continue;
    const auto found = map.keyframes.find(*id);
    if (found == map.keyframes.end() || !found->second.IsActive() || found->second.submap != submap) continue;
    if (++tries > options_.keyframe.max_connections) break;
    if (agreeing(found->second, *id) >= options_.keyframe.connection_inlier_ratio * reference_agreeing)
      chosen.push_back(*id);
  }
  return chosen;
}

KeyframeId FrontEnd::FindCovering(const MapSnapshot& map, const TrackResult& tracked,
                                  const View& view) const {
  constexpr size_t kTried = 6;
  const int submap = map.keyframes.at(tracked.reference).submap;
  std::vector<std::pair<double, KeyframeId>> near;
  for (const auto& [id, keyframe] : map.keyframes) {
    if (keyframe.IsActive() && keyframe.submap == submap && id != tracked.reference)
      near.emplace_back(PoseDistance(keyframe, tracked.world_from_camera), id);
  }
  const size_t count = std::min(kTried, near.size());
  std::partial_sort(near.begin(), near.begin() + static_cast<int64_t>(count), near.end());
  KeyframeId best = -1;
  double best_overlap =
      tracked.overlap.Product();  // a keyframe that shows less than the reference is no help
  for (size_t i = 0; i < count; ++i) {
    const MapKeyframe& keyframe = map.keyframes.at(near[i].second);
    const DepthImage depth =
        ComputeDepth(keyframe.keyframe->depth, keyframe.state.log_scale, keyframe.state.code);
    TrackResult seen = tracked;
    seen.overlap = MeasureOverlap(depth, *keyframe.keyframe->frame->view, view,
                                  tracked.world_from_camera.Inverse() * keyframe.state.world_from_camera);
    if (seen.overlap.Product() <= best_overlap || seen.overlap.flow >= tracked.overlap.flow) continue;
    if (DecideKeyframe(seen, options_.keyframe, {.revisiting = true}).decision != KeyframeDecision::kContinue)
      continue;
    best = near[i].second;
    best_overlap = seen.overlap.Product();
  }
  return best;
}

KeyframeRequest FrontEnd::MakeRequest(const LiveFrame& live, const MapSnapshot& map,
                                      const TrackResult& tracked, DepthBasis basis, BagOfWords words) {
  const MapKeyframe& reference = map.keyframes.at(tracked.reference);
  KeyframeRequest request;
  request.id = next_id_++;
  request.submap = reference.submap;
  request.reference = tracked.reference;
  request.reference_from_camera = tracked.camera_from_reference.Inverse();
  request.reference_log_scale = reference.state.log_scale;
  const DepthImage depth =
      ComputeDepth(reference.keyframe->depth, reference.state.log_scale, reference.state.code);
  request.log_scale = EstimateLogScale(depth, *reference.keyframe->frame->view, basis.average,
                                       *live.frame->view, tracked.camera_from_reference)
                          .value_or(reference.state.log_scale);
  request.connections = ChooseConnections(live, map, tracked);
  request.keyframe = MakeKeyframe(live, std::move(basis));
  request.words = std::move(words);
  return request;
}

bool FrontEnd::IsOutOfPatience(const FrameResult& result) {
  constexpr int kLeastFrames = 3;                // however slowly they come
  constexpr double kLongest = 0.2;               // seconds a single frame counts, after whatever pause
  constexpr double kNominalInterval = 1.0 / 30;  // where the clock does not tell
  if (result.blank) {
    last_lost_.reset();
    return false;
  }
  ++lost_frames_;
  const double since = last_lost_ ? result.time - *last_lost_ : 0;
  lost_seconds_ += since > 0 ? std::min(since, kLongest) : kNominalInterval;
  last_lost_ = result.time;
  return lost_frames_ >= kLeastFrames && lost_seconds_ >= options_.keyframe.patience;
}

// Whether a tracked frame becomes a keyframe. Not if the map has such a keyframe already, and the frame is
// recognised from there: that is its reference then.
KeyframeVerdict FrontEnd::Judge(const LiveFrame& live, const MapSnapshot& map, bool room,
                                FrameResult& result) {
  const KeyframeMoment moment{.revisiting = result.track.reference + 1 < next_id_,
                              .blank = result.blank,
                              .in_a_row = habits_.KeyframesInARow(),
                              .crowding = habits_.Crowding()};
  const KeyframeVerdict verdict = DecideKeyframe(result.track, options_.keyframe, moment);
  if (verdict.decision != KeyframeDecision::kNewKeyframe) return verdict;
  const KeyframeVerdict put_off{};
  const KeyframeId covering = FindCovering(map, result.track, *live.frame->view);
  if (covering < 0) return room ? verdict : put_off;
  TrackResult again = tracker_.TrackAgainst(
      live, map, covering,
      result.track.world_from_camera.Inverse() * map.keyframes.at(covering).state.world_from_camera);
  const KeyframeVerdict other = DecideKeyframe(again, options_.keyframe, {.revisiting = true});
  const bool serves = other.decision == KeyframeDecision::kContinue && again.status != TrackStatus::kWeak;
  if (!serves) return room ? verdict : put_off;
  if (result.track.status == TrackStatus::kRelocalised) again.status = result.track.status;
  result.track = again;
  return other;
}

void FrontEnd::Refer(KeyframeId reference) {
  if (reference_ == reference && !visited_.empty()) return;
  std::erase(visited_, reference);
  visited_.push_back(reference);
  reference_ = reference;
}

FrontEnd::Step FrontEnd::Lose(Step step) {
  lost_ = reference_ >= 0;
  doubt_.NoteLost();
  habits_.NoteFrame(false);
  habits_.NoteContrast(step.result.contrast);  // else a lens that got dirty would stay blank for ever
  Record(step.result, -1, {}, 0);
  return step;
}

// What is said of the frame; what it is used for was decided before.
void FrontEnd::Doubt(const MapSnapshot& map, FrameResult& result) {
  const auto reference = map.keyframes.find(result.track.reference);
  if (reference != map.keyframes.end()) result.disagreement = reference->second.disagreement;
  result.off_probability = doubt_.Note(result.disagreement);
  if (result.track.status == TrackStatus::kTracked && result.off_probability >= kWeakAtOnce) {
    result.track.status = TrackStatus::kWeak;
    result.track.reason = doubt_.Reason();
  }
}

FrontEnd::Step FrontEnd::Advance(const LiveFrame& live, const MapSnapshot& published,
                                 const MakeBasis& make_basis, bool room) {
  Step step;
  FrameResult& result = step.result;
  result.index = live.frame->index;
  result.time = live.frame->time;
  result.contrast = DescriptorContrast(live.frame->features.descriptors, live.frame->view->eroded_mask);
  result.blank = habits_.IsBlank(result.contrast);
  result.depth_noise = habits_.DepthNoise();
  tracker_.SetDepthNoise(result.depth_noise);
  const MapSnapshot map = Overlay(published);
  if (reference_ >= 0 && !map.keyframes.at(reference_).IsActive()) Refer(map.keyframes.at(reference_).host);
  BagOfWords words = lost_ || reference_ < 0 ? Describe(*live.frame) : BagOfWords{};

  bool starts = reference_ < 0;
  if (!starts) {
    result.track = Place(live, map, words);
    if (lost_ && !result.track.Placed()) starts = IsOutOfPatience(result);
  }
  if (starts) {
    if (result.blank) result.track.reason = "there is nothing to be seen in the picture";
    if (result.blank || !room) return Lose(std::move(step));
    step.request = StartMap(live, make_basis(), std::move(words), step);
    result.is_keyframe = true;
    result.keyframe_reason = result.track.reason;
  } else {
    const KeyframeVerdict verdict = Judge(live, map, room, result);
    if (verdict.decision == KeyframeDecision::kLost) return Lose(std::move(step));
    Refer(result.track.reference);
    result.submap = map.keyframes.at(reference_).submap;
    if (verdict.decision == KeyframeDecision::kNewKeyframe) {
      if (words.empty()) words = Describe(*live.frame);
      step.request = MakeRequest(live, map, result.track, make_basis(), std::move(words));
      result.is_keyframe = true;
      result.keyframe_reason = verdict.reason;
    }
  }
  lost_ = false;
  lost_frames_ = 0;
  lost_seconds_ = 0;
  last_lost_.reset();
  habits_.NoteFrame(result.is_keyframe);
  habits_.NoteContrast(result.contrast);
  if (result.track.status == TrackStatus::kTracked && result.track.depth_spread > 0)
    habits_.NoteDepthSpread(result.track.depth_spread);
  Doubt(map, result);
  if (step.request) {
    reference_ = step.request->id;
    visited_.push_back(reference_);
    result.submap = step.request->submap;
    Record(result, reference_, {}, step.request->log_scale);
    pending_.push_back(*step.request);
  } else {
    Record(result, reference_, result.track.camera_from_reference.Inverse(),
           map.keyframes.at(reference_).state.log_scale);
  }
  return step;
}

}  // namespace lumen
