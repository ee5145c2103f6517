// What it costs SLAM to be watched: the same video through SLAM without a view and with one that has ten
// clients (one of which never reads) and a map of a thousand keyframes, in turns. The clients run on the
// same machine and count in. Prints frames per second, their ratio, and what the processor did more.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include "lumen/apps/model_path.h"
#include "lumen/base/error.h"
#include "lumen/base/timer.h"
#include "lumen/network/torch_backend.h"
#include "lumen/network/weights.h"
#include "lumen/sim/sequence.h"
#include "lumen/slam/async_slam.h"
#include "lumen/viewer/live_view.h"
#include "lumen/viewer/server.h"

namespace lumen {
namespace {

constexpr int kFrames = 150;
constexpr int kTurns = 7;
constexpr int kClients = 10;
constexpr size_t kKeyframes = 1000;
constexpr KeyframeId kFirstOther = 100000;

// Browsers, as far as the server can tell: all read as fast as they can, but the first, which never does.
class Clients {
 public:
  explicit Clients(int port) {
    for (int i = 0; i < kClients; ++i) sockets_.push_back(Connect(port));
    reader_ = std::thread([this] { Read(); });
  }
  ~Clients() {
    stop_ = true;
    reader_.join();
    for (const int socket : sockets_) close(socket);
  }
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;
  size_t LeastBytes() const { return *std::min_element(received_.begin() + 1, received_.end()); }

 private:
  static int Connect(int port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    if (connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
      throw InputError("a client cannot connect");
    const std::string hello = "GET /ws HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) +
                              "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                              "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    if (send(socket, hello.data(), hello.size(), MSG_NOSIGNAL) < 0) throw InputError("a client cannot send");
    return socket;
  }
  void Read() {
    std::vector<pollfd> waiting;
    for (int i = 1; i < kClients; ++i) waiting.push_back({sockets_[static_cast<size_t>(i)], POLLIN, 0});
    std::vector<char> part(1 << 18);
    while (!stop_) {
      poll(waiting.data(), waiting.size(), 50);
      for (size_t i = 0; i < waiting.size(); ++i) {
        if ((waiting[i].revents & POLLIN) == 0) continue;
        const ssize_t got = recv(waiting[i].fd, part.data(), part.size(), MSG_DONTWAIT);
        if (got > 0) received_[i + 1] += static_cast<size_t>(got);
      }
    }
  }
  std::vector<int> sockets_;
  std::vector<size_t> received_ = std::vector<size_t>(kClients, 0);
  std::atomic<bool> stop_ = false;
  std::thread reader_;
};

double ProcessorSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) { return time.tv_sec + 1e-6 * time.tv_usec; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Stage {
  Model model;
  std::shared_ptr<const Vocabulary> vocabulary;
  std::vector<InputFrame> video;
  Camera camera = Camera(PinholeCamera{}, 2, 2);
  Mask mask;
  std::shared_ptr<const View> view;
};

Stage MakeStage() {
  Stage stage;
  const auto path = FindModel("");
  if (!path) throw InputError("no model found");
  stage.model = LoadModel(*path);
  if (const auto words = FindVocabulary(*path))
    stage.vocabulary = std::make_shared<Vocabulary>(Vocabulary::Load(*words));
  SequenceOptions options;
  options.width = stage.model.depth.input_width;
  options.height = stage.model.depth.input_height;
  options.path.frames = kFrames;
  options.threads = 2;
  const SimulatedSequence sequence(options);
  for (int i = 0; i < kFrames; ++i) stage.video.push_back({i, sequence.Time(i), sequence.Render(i).image});
  stage.camera = sequence.View();
  stage.mask = sequence.ContentMask();
  stage.view = MakeView(stage.camera, stage.mask);
  return stage;
}

// SLAM's own map and as many others as make a thousand: copies of its first, which all move at every
// twentieth frame, as they do when a loop is closed. Made in both turns, so that it costs both the same.
std::shared_ptr<const MapSnapshot> PadMap(const MapSnapshot& map, int64_t frame) {
  auto padded = std::make_shared<MapSnapshot>(map);
  if (map.keyframes.empty()) return padded;
  const MapKeyframe first = map.keyframes.begin()->second;
  const double moved = 0.01 * static_cast<double>(frame / 20);
  for (KeyframeId id = kFirstOther; padded->keyframes.size() < kKeyframes; ++id) {
    MapKeyframe other = first;
    other.state.world_from_camera =
        Rigid3::Exp(Vector6d::Constant(moved + 1e-3 * static_cast<double>(id % 997)));
    padded->keyframes.emplace(id, std::move(other));
  }
  padded->version = map.version * 1000 + frame / 20;
  return padded;
}

struct Turn {
  double fps = 0;
  double processor_seconds = 0;
  size_t bytes = 0;  // that the slowest reading client got
};

Turn Run(const Stage& stage, bool watched) {
  std::unique_ptr<LiveView> live;
  std::unique_ptr<ViewServer> server;
  std::unique_ptr<Clients> clients;
  if (watched) {
    live = std::make_unique<LiveView>("load", stage.view);
    server = std::make_unique<ViewServer>(
        live->Store(), [&](const std::string& path) { return live->Find(path); },
        ServerOptions{.port = 0, .ports_tried = 0});
    clients = std::make_unique<Clients>(server->Port());
  }
  const auto make_priors = [&] {
    return std::shared_ptr<Priors>(MakePriors(stage.model, stage.mask, {}, "cpu"));
  };
  AsyncSlam slam(make_priors(), make_priors(), stage.view, stage.vocabulary, {});
  slam.Listen({.on_frame = [&](const FrameResult& result, const PlacedFrame& placed) {
    const auto map = PadMap(*slam.Snapshot(), result.index);
    if (live == nullptr) return;
    ViewFrame frame{result.index, result.time};
    frame.reference = placed.reference;
    frame.reference_log_scale = placed.reference_log_scale;
    frame.pose = placed.reference_from_camera;
    live->AddFrame(frame, Json::MakeObject(), map);
  }});
  const double before = ProcessorSeconds();
  const Stopwatch watch;
  for (const InputFrame& frame : stage.video) {
    if (live != nullptr) live->AddPicture(frame.index, frame.image);
    slam.Submit(frame);
  }
  slam.Finish();
  Turn turn;
  turn.fps = 1000 * kFrames / watch.ElapsedMs();
  turn.processor_seconds = ProcessorSeconds() - before;
  if (clients != nullptr) turn.bytes = clients->LeastBytes();
  if (slam.Snapshot()->keyframes.empty()) throw InputError("SLAM placed nothing");
  return turn;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int Main() {
  const Stage stage = MakeStage();
  Run(stage, false);  // to warm up
  std::vector<double> ratios, costs, alone_fps, watched_fps;
  size_t bytes = SIZE_MAX;
  for (int i = 0; i < kTurns; ++i) {
    // Which one goes first changes, so that a machine that grows warm favours neither.
    Turn alone, watched;
    if (i % 2 == 0) alone = Run(stage, false);
    watched = Run(stage, true);
    if (i % 2 == 1) alone = Run(stage, false);
    std::printf("alone %.2f fps, watched %.2f fps; processor %.2f s and %.2f s; %.1f MB to each client\n",
                alone.fps, watched.fps, alone.processor_seconds, watched.processor_seconds,
                1e-6 * static_cast<double>(watched.bytes));
    std::fflush(stdout);
    alone_fps.push_back(alone.fps);
    watched_fps.push_back(watched.fps);
    ratios.push_back(watched.fps / alone.fps);
    costs.push_back(watched.processor_seconds / alone.processor_seconds);
    bytes = std::min(bytes, watched.bytes);
  }
  std::printf("median: alone %.2f fps, watched %.2f fps; throughput %+.1f %%, processor time %+.1f %%\n",
              Median(alone_fps), Median(watched_fps), 100 * (Median(ratios) - 1), 100 * (Median(costs) - 1));
  // A thousand clouds are 25 MB: a client that got less was not served what it was owed.
  if (bytes < 5000000) {
    std::printf("ERROR: a client got %zu bytes only\n", bytes);
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace lumen

int main() {
  try {
    return lumen::Main();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error %s\n", error.what());
    return 2;
  }
}
