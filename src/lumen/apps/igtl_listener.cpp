#include "lumen/apps/igtl_listener.h"

#include <mutex>

#include "lumen/base/error.h"
#include "lumen/base/json.h"
#include "lumen/base/log.h"

namespace lumen {

namespace {

constexpr const char* kCameraToCt = "CameraToCT";    // RAS mm
constexpr const char* kCameraToMap = "CameraToMap";  // the map's own frame and unit
constexpr const char* kResidual = "residual_mm";

// Whether the camera has a place, and in what.
std::string PlacedIn(const std::optional<NavigatedFrame>& frame) {
  if (!frame) return "none";
  if (!frame->placed) return "lost";
  return frame->ct_from_camera ? "ct" : "map";
}

std::shared_ptr<const TriangleMesh> SurfaceForLink(const CtRegistration& registration) {
  auto mesh = std::make_shared<TriangleMesh>(RasFromLps(registration.surface));
  std::erase_if(mesh->attributes, [](const VertexAttribute& each) { return each.name != kResidual; });
  return mesh;
}

// The link's part of what a run tells. Calls come from several threads, and what was told last must be sent
// last.
class IgtlListener : public NavigationListener {
 public:
  explicit IgtlListener(const LinkOptions& options) : link_(options) {
    if (options.connects)
      LogInfo("OpenIGTLink: to ", options.host, ":", options.port);
    else
      LogInfo("OpenIGTLink: at ", options.host, ":", link_.Port());
    Tell();
  }

  void OnState(const NavigationState& state) override {
    const std::lock_guard lock(mutex_);
    ct_ = state;
    Tell();
  }

  void OnRegistration(const std::shared_ptr<const CtRegistration>& registration) override {
    if (registration->confident) link_.SendSurface(SurfaceForLink(*registration));
  }

  void OnPicture(const InputFrame& frame) override { link_.SendPicture(frame.image, LinkTime(frame.time)); }

  void OnFrame(const NavigatedFrame& frame) override {
    const std::lock_guard lock(mutex_);
    const bool news = PlacedIn(frame) != PlacedIn(frame_);
    frame_ = frame;
    if (news) Tell();
    const double time = LinkTime(frame.time);
    if (frame.ct_from_camera)
      link_.SendPose(kCameraToCt, RasFromLps(*frame.ct_from_camera), time);
    else if (frame.placed)
      link_.SendPose(kCameraToMap, frame.map_from_camera, time);
    else
      link_.DropPose();
  }

 private:
  void Tell() {
    LinkState state = DescribeLinkState(ct_, frame_);
    if (state.machine == told_) return;
    told_ = state.machine;
    link_.SendState(state);
  }

  NavigationLink link_;
  std::mutex mutex_;
  NavigationState ct_;
  std::optional<NavigatedFrame> frame_;
  std::string told_;
};

int ParseLinkPort(const std::string& text, int least) {
  constexpr int most = 65535;
  const std::optional<long long> port = ParseInteger(text);
  if (!port || *port < least || *port > most)
    throw InputError(StrCat("--igtl: \"", text, "\" is no port: ", least, " to ", most));
  return static_cast<int>(*port);
}

}  // namespace

LinkState DescribeLinkState(const NavigationState& ct, const std::optional<NavigatedFrame>& frame) {
  const std::string placed = PlacedIn(frame);
  LinkState state;
  state.good = placed == "ct";
  state.name = placed == "lost" ? "lost" : ct.status == CtStatus::kNone ? placed : CtStatusName(ct.status);
  state.words = placed == "none"   ? "no frame yet"
                : placed == "lost" ? "the camera is lost"
                : placed == "ct"   ? "the camera is placed in the CT"
                                   : "the camera is placed in the map";
  if (ct.status != CtStatus::kNone) state.words += StrCat("; CT: ", CtStatusName(ct.status));
  if (!ct.words.empty()) state.words += StrCat(", ", ct.words);
  Json machine = Json::MakeObject();
  machine["placed_in"] = placed;
  machine["transform"] = placed == "ct" ? kCameraToCt : placed == "map" ? kCameraToMap : "";
  machine["ct"] = CtStatusName(ct.status);
  machine["words"] = ct.words;
  state.machine = machine.Dump();
  return state;
}

LinkOptions ParseIgtlChoice(const IgtlChoice& choice) {
  LinkOptions options;
  const size_t colon = choice.where.rfind(':');
  options.connects = colon != std::string::npos;
  options.host = choice.host;
  if (!options.connects) {
    options.port = ParseLinkPort(choice.where, 0);
    return options;
  }
  options.port = ParseLinkPort(choice.where.substr(colon + 1), 1);
  options.host = choice.where.substr(0, colon);
  if (StartsWith(options.host, "[") && EndsWith(options.host, "]"))
    options.host = options.host.substr(1, options.host.size() - 2);
  if (options.host.empty()) throw InputError(StrCat("--igtl: no host in \"", choice.where, "\""));
  return options;
}

std::unique_ptr<NavigationListener> MakeIgtlListener(const IgtlChoice& choice) {
  const LinkOptions options = ParseIgtlChoice(choice);
  try {
    return std::make_unique<IgtlListener>(options);
  } catch (const InputError& error) {
    throw InputError(StrCat("--igtl: ", error.what()));
  }
}

void AddIgtlOptions(Command& command, IgtlChoice& choice) {
  command
      .Add("--igtl", choice.where,
           StrCat("follow it over OpenIGTLink, as in 3D Slicer: PORT to serve there (", LinkOptions().port,
                  " if none is named), HOST:PORT to connect"))
      .MayStandAlone(std::to_string(LinkOptions().port));
  command
      .Add("--igtl-host", choice.host,
           "address to serve OpenIGTLink at; whoever can reach it sees the run: it knows no secrets")
      .ShowDefault();
}

}  // namespace lumen
