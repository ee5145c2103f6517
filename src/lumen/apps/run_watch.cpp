#include "lumen/apps/run_watch.h"

#include <chrono>
#include <iostream>
#include <mutex>
#include <thread>

#include "lumen/apps/coverage_words.h"
#include "lumen/apps/ct_watch.h"
#include "lumen/apps/live_coverage.h"
#include "lumen/apps/run_coverage.h"
#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/base/parallel.h"
#include "lumen/base/timer.h"
#include "lumen/io/mesh_file.h"
#include "lumen/viewer/live_view.h"
#include "lumen/viewer/run_view.h"

namespace lumen {

namespace {

void Announce(const ViewServer& server, const ServerOptions& options) {
  if (options.port != 0 && server.Port() != options.port)
    LogWarning("port ", options.port, " is in use: taking ", server.Port());
  if (!HavePage()) LogWarning("this build has no page inside; run ./demo or ./check with Node.js installed");
  std::cout << "view: " << server.Url() << std::endl;
  if (options.address == "0.0.0.0" || options.address == "::")
    LogInfo("from other machines: the same address with this machine's name instead of ", options.address);
}

ViewStatus ToViewStatus(TrackStatus status) {
  switch (status) {
    case TrackStatus::kTracked:
    case TrackStatus::kStarted:
      return ViewStatus::kTracked;
    case TrackStatus::kWeak:
      return ViewStatus::kWeak;
    case TrackStatus::kRelocalised:
      return ViewStatus::kRelocalised;
    case TrackStatus::kLost:
      break;
  }
  return ViewStatus::kLost;
}

// None where the run has no surface, or its camera hardly moved.
std::optional<ViewCoverage> CoverageOf(const RunFolder& run, const std::atomic<bool>& stop) {
  if (!std::filesystem::is_regular_file(run.path / run_file::kSurface)) return std::nullopt;
  try {
    const WallCoverage coverage =
        MeasureRunCoverage(run, {.mm_per_unit = ToldMillimetres(run)}, AvailableCores(), &stop);
    if (coverage.ways.empty()) return std::nullopt;
    return ShowCoverage(coverage, LoadMesh(run.path / run_file::kSurface), AvailableCores());
  } catch (const CoverageStopped&) {
    return std::nullopt;
  } catch (const InputError& error) {
    LogWarning(error.what());
  }
  return std::nullopt;
}

class Watch : public RunWatch {
 public:
  Watch(std::string name, const ServerOptions& options, std::vector<Target> targets)
      : name_(std::move(name)), options_(options), targets_(std::move(targets)), ct_(targets_) {}

  void OnStart(const std::shared_ptr<const View>& view, const Trajectory& truth) override {
    live_ = std::make_unique<LiveView>(name_, view, truth);
    LiveView* live = live_.get();
    ct_.Attach(live->Ct());
    ServerOptions options = options_;
    options.on_message = [this](const std::string& message) { TakeHint(message); };
    server_ = std::make_unique<ViewServer>(
        live->Store(), [live](const std::string& path) { return live->Find(path); }, options);
    Announce(*server_, options_);
    options_.port = server_->Port();
    options_.token = server_->Token();  // open pages stay valid when the run ends
    clock_ = {};
    coverage_ =
        std::make_unique<LiveCoverage>(view, [live](const ViewCoverage& seen) { live->SetCoverage(seen); });
  }
  void OnPicture(const InputFrame& frame) override { live_->AddPicture(frame.index, frame.image); }
  void OnFrame(const FrameResult& result, const PlacedFrame& placed,
               const std::shared_ptr<const MapSnapshot>& map) override {
    PassHintOn();
    const auto reference = map->keyframes.find(placed.reference);
    ct_.SetSubmap(reference == map->keyframes.end() ? result.submap : reference->second.submap);
    ViewFrame frame{result.index, result.time, ToViewStatus(result.track.status), result.is_keyframe};
    if (placed.reference >= 0) {
      frame.reference = placed.reference;
      frame.reference_log_scale = placed.reference_log_scale;
      frame.pose = placed.reference_from_camera;
    }
    ++frames_;
    if (frame.pose) ++placed_;
    if (coverage_ != nullptr) coverage_->Add(placed, map);
    live_->AddFrame(frame, StatusOf(result, *map), map);
  }
  void OnPhase(const std::string& what) override {
    coverage_.reset();  // what comes now wants all of the machine
    live_->SetPhase(what);
  }
  NavigationListener* Listener() override { return &ct_; }
  void OnStartHint(std::function<void(const Eigen::Vector3d&)> told) override { told_ = std::move(told); }
  void ShowFinished(const std::filesystem::path& run, const std::atomic<bool>& stop) override {
    coverage_.reset();
    ct_.Detach();
    server_.reset();
    live_.reset();
    options_.ports_tried = 0;
    LogInfo("the run is finished; its view stays until Ctrl-C");
    ServeRun(run, options_, stop, {targets_, {}});
  }

 private:
  // On the server's thread; whoever wants to know is told with the next frame, as long as frames come.
  void TakeHint(const std::string& message) {
    const auto place = ParseStartHint(message);
    const std::lock_guard lock(hint_mutex_);
    if (place) hint_ = place;
  }
  void PassHintOn() {
    std::optional<Eigen::Vector3d> hint;
    {
      const std::lock_guard lock(hint_mutex_);
      hint = std::exchange(hint_, std::nullopt);
    }
    if (hint && told_) told_(*hint);
  }
  Json StatusOf(const FrameResult& result, const MapSnapshot& map) const {
    Json status = Json::MakeObject();
    status["frames"] = frames_;
    status["placed"] = placed_;
    status["keyframes"] = static_cast<int64_t>(map.keyframes.size());
    status["fps"] = static_cast<double>(frames_) / std::max(1e-3, clock_.ElapsedMs() / 1000);
    status["reason"] = result.track.reason;
    Json stages = Json::MakeObject();
    for (const auto& [name, ms] :
         {std::pair{"networks", result.network_ms}, {"track", result.track_ms}, {"map", result.map_ms}}) {
      Json stage = Json::MakeObject();
      stage["mean_ms"] = ms;
      stages[name] = stage;
    }
    status["stages"] = stages;
    return status;
  }

  std::string name_;
  ServerOptions options_;
  std::vector<Target> targets_;
  CtWatch ct_;
  std::function<void(const Eigen::Vector3d&)> told_;
  std::mutex hint_mutex_;
  std::optional<Eigen::Vector3d> hint_;
  std::unique_ptr<LiveView> live_;
  std::unique_ptr<ViewServer> server_;
  std::unique_ptr<LiveCoverage> coverage_;
  Stopwatch clock_;
  int64_t frames_ = 0, placed_ = 0;
};

}  // namespace

void AddServerOptions(Command& command, ServerOptions& options) {
  command.Add("--port", options.port, "of the view; the next free one is taken if it is in use")
      .Within(0, 65535)
      .ShowDefault();
  command
      .Add("--host", options.address,
           "address to serve the view at; any but the loopback needs the token that is printed")
      .ShowDefault();
}

std::unique_ptr<RunWatch> MakeRunWatch(const std::string& name, const ServerOptions& options,
                                       std::vector<Target> targets) {
  return std::make_unique<Watch>(name, options, std::move(targets));
}

void ServeRun(const std::filesystem::path& run, const ServerOptions& options, const std::atomic<bool>& stop,
              const RunCompany& company) {
  RunView view(run, CoverageOf, [&](const RunFolder& folder, CtLayer& layer, const std::atomic<bool>& gone) {
    ShowRegisteredRun(folder, company.targets, company.ct, layer, gone);
  });
  for (const std::string& remark : view.Remarks()) LogWarning(remark);
  const ViewServer server(
      view.Store(), [&](const std::string& path) { return view.Find(path); }, options);
  Announce(server, options);
  while (!stop) std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

}  // namespace lumen
