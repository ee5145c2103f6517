#include "lumen/apps/navigator.h"

#include "lumen/base/log.h"

namespace lumen {

Json RegistrationEvent(const CtRegistration& registration) {
  const SurfaceRegistration& result = registration.result;
  Json line = Json::MakeObject();
  line["event"] = registration.jump ? "registration_jump" : "registration";
  line["number"] = registration.number;
  line["frame"] = registration.frame;
  line["confident"] = registration.confident;
  line["cavity"] = registration.place.cavity;
  line["scale"] = result.model_from_surface.Scale();
  line["residual_mm"] = result.residual_mean;
  line["matched_share"] = result.matched_share;
  line["sigma_mm"] = CameraSigma(registration, registration.camera);
  line["runner_up"] = result.runner_up;
  line["neighbour"] = result.neighbour;
  line["misfit"] = result.misfit ? Json(*result.misfit) : Json();
  line["discord_mm"] = result.discord ? Json(*result.discord) : Json();
  line["radius_mm"] = result.radius;
  line["path_mm"] = registration.path_mm;
  line["camera_mm"] = Json::Array{registration.camera.x(), registration.camera.y(), registration.camera.z()};
  if (!result.constraints.empty()) line["least_visible"] = result.constraints.front().visibility;
  line["moved_mm"] = registration.moved_mm;
  line["seconds"] = registration.seconds;
  line["doubts"] = Json::MakeArray();
  for (const std::string& doubt : result.doubts) line["doubts"].Append(doubt);
  return line;
}

Navigator::Navigator(const std::optional<LiveRegistrationOptions>& registration,
                     std::vector<NavigationListener*> listeners)
    : listeners_(std::move(listeners)) {
  if (registration) start_ = registration->start;
  if (registration) live_ = std::make_unique<LiveRegistration>(*registration, inbox_);
}

Navigator::~Navigator() = default;

void Navigator::TakeCt(const std::shared_ptr<const NavigationCt>& ct) {
  {
    const std::lock_guard lock(mutex_);
    ct_ = ct;
  }
  for (NavigationListener* listener : listeners_) listener->OnCt(ct);
}

void Navigator::TakeState(const NavigationState& state) {
  {
    const std::lock_guard lock(mutex_);
    if (state.status == state_.status && state.words == state_.words) return;
    if (state.status != state_.status)
      LogInfo("CT: ", CtStatusName(state.status), state.words.empty() ? "" : ", ", state.words);
    state_ = state;
  }
  for (NavigationListener* listener : listeners_) listener->OnState(state);
}

void Navigator::TakeRegistration(const std::shared_ptr<const CtRegistration>& registration) {
  {
    const std::lock_guard lock(mutex_);
    newest_ = registration;
    events_.push_back(RegistrationEvent(*registration));
    if (registration->jump) {
      ++jumps_;
      LogWarning("CT: the registration moved the camera by ", registration->moved_mm, " mm");
    }
  }
  for (NavigationListener* listener : listeners_) listener->OnRegistration(registration);
}

void Navigator::OnPicture(const InputFrame& frame) {
  for (NavigationListener* listener : listeners_) listener->OnPicture(frame);
}

void Navigator::UpdateFollow(const MapSnapshot& map, int submap) {
  std::shared_ptr<const CtRegistration> newest;
  {
    const std::lock_guard lock(mutex_);
    newest = newest_;
    // A place that may be another is none, and an answer that was withdrawn is told no more.
    if (state_.status != CtStatus::kRegistered || (newest != nullptr && !newest->confident)) newest = nullptr;
  }
  if (newest == follow_.registration && map.version == follow_.version && submap == follow_.submap) return;
  follow_ = {newest, map.version, submap, newest == nullptr ? std::nullopt : FollowMap(*newest, map, submap)};
}

void Navigator::OnFrame(const FrameResult& result, const PlacedFrame& placed,
                        const std::shared_ptr<const MapSnapshot>& map) {
  if (live_ != nullptr) live_->Add(placed, map);
  NavigatedFrame frame;
  frame.frame = result.index;
  frame.time = result.time;
  frame.track = result.track.status;
  frame.placed = placed.reference >= 0;
  if (frame.placed) {
    frame.map_from_camera = LocateFrame(placed, *map).value_or(result.track.world_from_camera);
    const auto reference = map->keyframes.find(placed.reference);
    UpdateFollow(*map, reference == map->keyframes.end() ? result.submap : reference->second.submap);
    frame.ct_from_map = follow_.ct_from_map;
  }
  if (frame.ct_from_map) {
    frame.ct_from_camera = frame.ct_from_map->TransformPose(frame.map_from_camera);
    frame.sigma_mm = CameraSigma(*follow_.registration, frame.ct_from_camera->Translation());
    frame.registration = follow_.registration;
    const std::lock_guard lock(mutex_);
    if (told_++ == 0) first_frame_ = result.index;
  }
  last_frame_ = frame;
  last_placed_ = placed;
  for (NavigationListener* listener : listeners_) listener->OnFrame(frame);
}

void Navigator::OnEnd() {
  if (live_ != nullptr) live_->Stop();
}

std::vector<Json> Navigator::TakeEvents() {
  const std::lock_guard lock(mutex_);
  return std::exchange(events_, {});
}

void Navigator::AddToSummary(Json& summary) const {
  if (live_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  Json ct = Json::MakeObject();
  ct["status"] = CtStatusName(state_.status);
  ct["words"] = state_.words;
  ct["registrations"] = newest_ == nullptr ? 0 : newest_->number;
  ct["jumps"] = jumps_;
  ct["frames"] = told_;
  if (told_ > 0) ct["first_frame"] = first_frame_;
  summary["ct"] = ct;
}

void Navigator::SetStart(const Eigen::AlignedBox3d& region) {
  {
    const std::lock_guard lock(mutex_);
    start_ = region;
  }
  if (live_ != nullptr) live_->SetStart(region);
}

std::optional<Eigen::AlignedBox3d> Navigator::Start() const {
  const std::lock_guard lock(mutex_);
  return start_;
}

std::shared_ptr<const NavigationCt> Navigator::Ct() const {
  const std::lock_guard lock(mutex_);
  return ct_;
}

std::optional<Sim3> Navigator::LastWord(const MapSnapshot& map) const {
  const std::lock_guard lock(mutex_);
  if (newest_ == nullptr || state_.status != CtStatus::kRegistered) return std::nullopt;
  return FollowMap(*newest_, map, LargestSubmap(map));
}

void Navigator::TellLast(const std::shared_ptr<const CtRegistration>& registration,
                         const NavigationState& state, const MapSnapshot& map) {
  TakeRegistration(registration);
  TakeState(state);
  const auto pose = LocateFrame(last_placed_, map);
  if (!registration->confident || !last_frame_.placed || !pose) return;
  NavigatedFrame frame = last_frame_;
  frame.map_from_camera = *pose;
  frame.ct_from_map = registration->result.model_from_surface;
  frame.ct_from_camera = frame.ct_from_map->TransformPose(*pose);
  frame.sigma_mm = CameraSigma(*registration, frame.ct_from_camera->Translation());
  frame.registration = registration;
  for (NavigationListener* listener : listeners_) listener->OnFrame(frame);
}

}  // namespace lumen
