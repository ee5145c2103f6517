#include "lumen/apps/live_registration.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "lumen/apps/measured_points.h"
#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/base/parallel.h"
#include "lumen/base/step_back.h"
#include "lumen/base/text.h"
#include "lumen/base/timer.h"
#include "lumen/geometry/alignment.h"
#include "lumen/surface/map_surface.h"
#include "lumen/surface/registration_judge.h"

namespace lumen {

using Eigen::Vector3d;

namespace {

constexpr int kFirstKeyframes = 8;
// Keyframes between attempts, as a share of those there are.
constexpr double kGrowthSearching = 0.2, kGrowthRegistered = 0.1;

std::vector<Vector3d> PathIn(const std::vector<PlacedFrame>& frames, const MapSnapshot& map, int submap) {
  std::vector<Vector3d> path;
  for (const PlacedFrame& frame : frames) {
    const auto reference = map.keyframes.find(frame.reference);
    if (reference == map.keyframes.end() || reference->second.submap != submap) continue;
    if (const auto pose = LocateFrame(frame, map)) path.push_back(pose->Translation());
  }
  return path;
}

double LengthOf(const std::vector<Vector3d>& path) {
  double length = 0;
  for (size_t i = 1; i < path.size(); ++i) length += (path[i] - path[i - 1]).norm();
  return length;
}

int CountKeyframes(const MapSnapshot& map, int submap) {
  return static_cast<int>(
      std::count_if(map.keyframes.begin(), map.keyframes.end(),
                    [&](const auto& keyframe) { return keyframe.second.submap == submap; }));
}

std::string Millimetres(double mm) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f mm", mm);
  return text;
}

std::string Joined(const std::vector<std::string>& reasons) {
  std::string text;
  for (const std::string& reason : reasons) text += (text.empty() ? "" : "; ") + reason;
  return text;
}

}  // namespace

Eigen::AlignedBox3d StartAround(const Vector3d& place) {
  constexpr double kRadius = 15;
  return {place - Vector3d::Constant(kRadius), place + Vector3d::Constant(kRadius)};
}

Eigen::AlignedBox3d ParseStartRegion(const std::string& text) {
  std::vector<double> numbers;
  for (const std::string& word : Split(text, ',')) {
    const auto number = ParseDouble(Trim(word));
    if (!number || !std::isfinite(*number))
      throw InputError(StrCat("--ct-start ", text, ": \"", word, "\" is not a number"));
    numbers.push_back(*number);
  }
  if (numbers.size() == 3) return StartAround({numbers[0], numbers[1], numbers[2]});
  if (numbers.size() == 4 && numbers[3] > 0) {
    const Vector3d place(numbers[0], numbers[1], numbers[2]);
    return {place - Vector3d::Constant(numbers[3]), place + Vector3d::Constant(numbers[3])};
  }
  if (numbers.size() == 6 && numbers[0] < numbers[1] && numbers[2] < numbers[3] && numbers[4] < numbers[5])
    return {Vector3d(numbers[0], numbers[2], numbers[4]), Vector3d(numbers[1], numbers[3], numbers[5])};
  throw InputError(StrCat("--ct-start ", text,
                          ": must be L,P,S or L,P,S,RADIUS or L0,L1,P0,P1,S0,S1 in mm, each range growing"));
}

std::optional<Sim3> FollowMap(const CtRegistration& registration, const MapSnapshot& map, int submap) {
  std::vector<Vector3d> now, then;
  for (const auto& [id, before] : registration.anchors) {
    const auto found = map.keyframes.find(id);
    if (found == map.keyframes.end() || found->second.submap != submap) continue;
    const Sim3 after = PlaceOf(found->second.state);
    for (const Vector3d& x :
         {Vector3d(0, 0, 0), Vector3d(0.5, 0, 1), Vector3d(-0.5, 0, 1), Vector3d(0, 0.5, 1)}) {
      now.push_back(after * x);
      then.push_back(before * x);
    }
  }
  const auto then_from_now = EstimateAlignment(now, then);
  if (!then_from_now) return std::nullopt;
  return registration.result.model_from_surface * *then_from_now;
}

SurfaceRegistrationOptions NearBefore(SurfaceRegistrationOptions options, bool guessed) {
  constexpr GuessRange kNear{6, 4, 1.12};
  if (!guessed) return options;
  options.guess_degrees = kNear.degrees;
  options.guess_distance = kNear.distance;
  options.guess_scale = kNear.scale;
  return options;
}

TriangleMesh ShowResiduals(const TriangleMesh& placed, const NavigationCt& ct, int threads) {
  constexpr double kMostResidual = 2;  // mm
  return ColorByResidual(placed, ComputeResiduals(placed, *ct.tree, threads), kMostResidual);
}

NavigationState DescribeRegistration(const CtRegistration* registration,
                                     const std::vector<std::string>& why_not) {
  if (registration == nullptr)
    return {CtStatus::kSearching, why_not.empty() ? "too little was seen so far" : Joined(why_not)};
  const SurfaceRegistration& result = registration->result;
  std::string words = registration->place.cavity > 0 ? StrCat("in cavity ", registration->place.cavity, " (",
                                                              registration->place.words, "), ")
                                                     : std::string();
  words += StrCat("±", Millimetres(CameraSigma(*registration, result.centre)), ", ",
                  std::lround(100 * result.matched_share), " % of the surface lies on it");
  if (registration->confident) return {CtStatus::kRegistered, words};
  return {CtStatus::kDoubtful,
          StrCat(words, "; ", result.confident ? "to be confirmed" : Joined(result.doubts))};
}

RegistrationSeries::RegistrationSeries(LiveRegistrationOptions options,
                                       std::shared_ptr<const NavigationCt> ct)
    : options_(std::move(options)), ct_(std::move(ct)), due_(kFirstKeyframes) {}

void RegistrationSeries::SetStart(const Eigen::AlignedBox3d& region) {
  options_.start = region;
  due_ = kFirstKeyframes;
}

// With the answer before, by the map as it is now.
void RegistrationSeries::Compare(const MapSnapshot& map, CtRegistration& answer) const {
  const auto before = newest_ == nullptr ? std::nullopt : FollowMap(*newest_, map, answer.submap);
  if (before) {
    const Vector3d then = *before * (answer.result.model_from_surface.Inverse() * answer.camera);
    answer.moved_mm = (then - answer.camera).norm();
    constexpr double kSigmas = 3, kLeast = 1;  // mm
    const double expected = std::hypot(CameraSigma(*newest_, then), CameraSigma(answer, answer.camera));
    answer.jump = answer.moved_mm > std::max(kLeast, kSigmas * expected);
  }
  const bool confirmed = before && newest_->result.confident && !answer.jump;
  answer.confident = answer.result.confident && confirmed;
}

std::shared_ptr<const CtRegistration> RegistrationSeries::Try(const std::vector<PlacedFrame>& frames,
                                                              const std::shared_ptr<const MapSnapshot>& map,
                                                              int threads, const std::atomic<bool>* stop) {
  const Stopwatch clock;
  const int submap = LargestSubmap(*map);
  const int keyframes = CountKeyframes(*map, submap);
  const auto wait = [&](double growth) {
    due_ = keyframes + std::max(2, static_cast<int>(growth * keyframes));
  };
  wait(kGrowthSearching);
  const FusionResult fused = FuseMap(map, submap, options_.depth, options_.fusion, threads);
  if (fused.status != FusionStatus::kOk || (stop != nullptr && *stop)) return nullptr;
  RegistrationHints hints;
  hints.path = PathIn(frames, *map, submap);
  hints.faces_air = !ct_->model.cavities.empty();
  hints.measured = MeasureMapPoints(*map, submap, fused.mesh, threads);
  hints.stop = stop;
  std::optional<Sim3> guess;
  if (newest_ != nullptr && newest_->result.confident) guess = FollowMap(*newest_, *map, submap);
  // Who says where it began has the say over an answer that has it elsewhere.
  constexpr double kLenient = 5;  // mm
  if (guess && options_.start && !hints.path.empty() &&
      options_.start->exteriorDistance(*guess * hints.path.front()) > kLenient)
    guess.reset();
  if (!guess) hints.start = options_.start;
  const auto search = [&] {
    return RegisterSurface(fused.mesh, guess ? near_wall_ : ct_->model.wall, guess,
                           NearBefore(options_.registration, guess.has_value()), threads, hints);
  };
  SurfaceRegistration result = search();
  // What was believed and is so no more is looked for everywhere.
  if (guess && !result.confident) {
    hints.start = options_.start;
    guess.reset();
    result = search();
  }
  if (stop != nullptr && *stop) return nullptr;
  why_not_ = result.doubts;
  constexpr int kMostFailures = 3;
  if (result.status != SurfaceRegistrationStatus::kRegistered) {
    if (newest_ != nullptr && ++failures_ >= kMostFailures) newest_ = nullptr;
    return nullptr;
  }
  failures_ = 0;
  auto answer = std::make_shared<CtRegistration>();
  answer->number = newest_ == nullptr ? 1 : newest_->number + 1;
  answer->result = std::move(result);
  answer->submap = submap;
  answer->grain_mm = ct_->grain_mm;
  answer->place = FindPlace({fused.mesh, {}, {}}, ct_->model, answer->result);
  answer->surface = ShowResiduals(PlaceSurface(fused.mesh, answer->result.placement), *ct_, threads);
  for (const auto& [id, keyframe] : map->keyframes)
    if (keyframe.submap == submap) answer->anchors.emplace(id, PlaceOf(keyframe.state));
  if (!frames.empty()) answer->frame = frames.back().index;
  answer->path_mm = answer->result.model_from_surface.Scale() * LengthOf(hints.path);
  if (!hints.path.empty()) answer->camera = answer->result.model_from_surface * hints.path.back();
  Compare(*map, *answer);
  answer->seconds = clock.ElapsedMs() / 1000;
  if (answer->result.confident) {
    wait(kGrowthRegistered);
    if (std::exchange(near_cavity_, answer->place.cavity) != answer->place.cavity)
      near_wall_ = ct_->model.WallOf(answer->place.cavity);
  }
  newest_ = answer;
  return answer;
}

LiveRegistration::LiveRegistration(const LiveRegistrationOptions& options, NavigationListener& listener)
    : options_(options), listener_(listener) {
  if (options_.in_step)
    ReadCt();
  else
    worker_ = std::thread([this] { Work(); });
}

LiveRegistration::~LiveRegistration() { Stop(); }

void LiveRegistration::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (worker_.joinable()) worker_.join();
}

void LiveRegistration::ReadCt() {
  listener_.OnState({CtStatus::kReading, options_.ct.path.filename().string()});
  try {
    const auto ct = std::make_shared<const NavigationCt>(ReadNavigationCt(options_.ct));
    series_ = std::make_unique<RegistrationSeries>(options_, ct);
    listener_.OnCt(ct);
    listener_.OnState(series_->State());
  } catch (const InputError& error) {
    LogWarning(error.what(), ": the run goes on without it");
    listener_.OnState({CtStatus::kUnusable, error.what()});
  }
}

void LiveRegistration::Add(const PlacedFrame& frame, const std::shared_ptr<const MapSnapshot>& map) {
  {
    const std::lock_guard lock(mutex_);
    map_ = map;
    if (frame.reference < 0) return;
    if (++skipped_ >= every_) {
      skipped_ = 0;
      frames_.push_back(frame);
      constexpr size_t kMostFrames = 2000;
      if (frames_.size() >= kMostFrames) {
        for (size_t i = 0; 2 * i < frames_.size(); ++i) frames_[i] = frames_[2 * i];
        frames_.resize((frames_.size() + 1) / 2);
        every_ *= 2;
      }
    }
  }
  if (options_.in_step)
    TryOnce();
  else
    changed_.notify_all();
}

void LiveRegistration::SetStart(const Eigen::AlignedBox3d& region) {
  {
    const std::lock_guard lock(mutex_);
    told_start_ = region;
  }
  changed_.notify_all();
}

std::shared_ptr<const CtRegistration> LiveRegistration::Newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

double LiveRegistration::TryOnce() {
  std::vector<PlacedFrame> frames;
  std::shared_ptr<const MapSnapshot> map;
  if (series_ == nullptr) return 0;
  {
    const std::lock_guard lock(mutex_);
    if (told_start_) series_->SetStart(*std::exchange(told_start_, std::nullopt));
    map = map_;
    if (map == nullptr || map->keyframes.empty() || !series_->Due(CountKeyframes(*map, LargestSubmap(*map))))
      return 0;
    frames = frames_;
  }
  const Stopwatch clock;
  const int threads = options_.in_step ? AvailableCores() : std::max(1, AvailableCores() / 2);
  const auto answer = series_->Try(frames, map, threads, &stop_);
  if (stop_) return 0;
  {
    const std::lock_guard lock(mutex_);
    newest_ = series_->Newest();
  }
  if (answer != nullptr) listener_.OnRegistration(answer);
  listener_.OnState(series_->State());
  return clock.ElapsedMs() / 1000;
}

void LiveRegistration::Work() {
  StepBack();
  ReadCt();
  if (series_ == nullptr) return;
  double rest = 0;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::duration<double>(rest), [this] { return stop_.load(); });
      if (stop_) return;
      changed_.wait(lock, [this] {
        return stop_ || told_start_ ||
               (map_ != nullptr && series_->Due(CountKeyframes(*map_, LargestSubmap(*map_))));
      });
      if (stop_) return;
    }
    const double seconds = TryOnce();
    // A run that was found is only followed, which may take its time.
    const auto newest = Newest();
    rest = newest != nullptr && newest->confident ? 2 * seconds : 0.5 * seconds;
  }
}

}  // namespace lumen
