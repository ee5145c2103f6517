// Following a run over OpenIGTLink: from SendPose to a client's recv, and what a SendPose costs SLAM, alone,
// with a client, and with ten of which one never reads. Latencies are counters; ratios are of one run.
#include <benchmark/benchmark.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <thread>

#include "lumen/base/error.h"
#include "lumen/igtl/link_socket.h"
#include "lumen/igtl/navigation_link.h"

namespace lumen {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kTransformBytes = 58 + 48, kPlaceAt = 58 + 36;

double Microseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

Rigid3 Numbered(int number) { return {Eigen::Quaterniond::Identity(), Eigen::Vector3d(number, 0, 0)}; }

// A program that follows: notes which transform was the last it got.
class Follower {
 public:
  Follower(int port, bool reads)
      : socket_(ConnectTo(FindAddresses("127.0.0.1", port).front(), 1000, -1)), thread_([this, reads] {
          if (reads) Read();
        }) {
    if (!socket_) throw InputError("a client cannot connect");
    const int small = 1 << 12;  // so that who does not read is stuck soon
    if (!reads) ::setsockopt(socket_.Descriptor(), SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
  }
  ~Follower() {
    stop_ = true;
    thread_.join();
  }
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;
  int Last() const { return last_; }

 private:
  void Read() {
    std::string pending;
    while (!stop_) {
      pollfd waiting{socket_.Descriptor(), POLLIN, 0};
      if (::poll(&waiting, 1, 50) <= 0) continue;
      char part[65536];
      const ssize_t count = ::recv(socket_.Descriptor(), part, sizeof(part), 0);
      if (count <= 0) return;
      pending.append(part, static_cast<size_t>(count));
      size_t at = 0;
      for (; at + kTransformBytes <= pending.size(); at += kTransformBytes) {
        uint32_t bits = 0;
        for (size_t i = 0; i < 4; ++i)
          bits = bits << 8 | static_cast<unsigned char>(pending[at + kPlaceAt + i]);
        last_ = static_cast<int>(std::bit_cast<float>(bits));
      }
      pending.erase(0, at);
    }
  }
  Socket socket_;
  std::atomic<int> last_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread thread_;  // last: it reads the rest
};

std::vector<std::unique_ptr<Follower>> Connect(const NavigationLink& link, int count, bool one_stuck) {
  std::vector<std::unique_ptr<Follower>> followers;
  for (int i = 0; i < count; ++i)
    followers.push_back(std::make_unique<Follower>(link.Port(), !one_stuck || i + 1 < count));
  while (link.Clients() < count) std::this_thread::yield();
  return followers;
}

// Argument: clients. A pose every 2 ms; how long until the first client has it.
void BM_FromPoseToClient(benchmark::State& state) {
  NavigationLink link({.port = 0});
  const auto followers = Connect(link, static_cast<int>(state.range(0)), state.range(0) > 1);
  std::vector<double> latencies;
  int number = 0;
  for (auto _ : state) {
    const Clock::time_point begin = Clock::now();
    link.SendPose("CameraToCT", Numbered(++number), 0);
    while (followers.front()->Last() != number && Clock::now() - begin < std::chrono::seconds(1))
      std::this_thread::yield();
    latencies.push_back(Microseconds(Clock::now() - begin));
    state.PauseTiming();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    state.ResumeTiming();
  }
  std::sort(latencies.begin(), latencies.end());
  state.counters["median_us"] = latencies[latencies.size() / 2];
  state.counters["p99_us"] = latencies[latencies.size() * 99 / 100];
  if (followers.front()->Last() != number) state.SkipWithError("the last pose did not arrive");
}
BENCHMARK(BM_FromPoseToClient)->Arg(1)->Arg(10)->Iterations(1000)->UseRealTime();

// Argument: clients, of ten one stuck. What the caller of SendPose pays, at the pace of a video.
void BM_SendPose(benchmark::State& state) {
  NavigationLink link({.port = 0});
  const auto followers = Connect(link, static_cast<int>(state.range(0)), state.range(0) > 1);
  std::vector<double> costs;
  int number = 0;
  for (auto _ : state) {
    const Clock::time_point begin = Clock::now();
    link.SendPose("CameraToCT", Numbered(++number), 0);
    costs.push_back(Microseconds(Clock::now() - begin));
    state.PauseTiming();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    state.ResumeTiming();
  }
  std::sort(costs.begin(), costs.end());
  state.counters["median_us"] = costs[costs.size() / 2];
  state.counters["p99_us"] = costs[costs.size() * 99 / 100];
  const auto deadline = Clock::now() + std::chrono::seconds(2);
  for (size_t i = 0; i + 1 < followers.size(); ++i)
    while (followers[i]->Last() != number && Clock::now() < deadline) std::this_thread::yield();
  for (size_t i = 0; i + 1 < followers.size(); ++i)
    if (followers[i]->Last() != number) state.SkipWithError("the last pose did not arrive");
}
BENCHMARK(BM_SendPose)->Arg(0)->Arg(1)->Arg(10)->Iterations(1000)->UseRealTime();

// A surface of so many thousand points, as a thread of the link packs it.
void BM_PackSurface(benchmark::State& state) {
  TriangleMesh mesh;
  const int across = 400, along = static_cast<int>(state.range(0)) * 1000 / across;
  mesh.attributes = {{"residual_mm", {}}};
  for (int y = 0; y < along; ++y) {
    for (int x = 0; x < across; ++x) {
      mesh.vertices.emplace_back(static_cast<float>(x), static_cast<float>(y), 0.0F);
      mesh.attributes[0].values.push_back(0.1F);
      const int here = y * across + x;
      if (x == 0 || y == 0) continue;
      mesh.triangles.push_back({here, here - 1, here - across});
      mesh.triangles.push_back({here - 1, here - across - 1, here - across});
    }
  }
  size_t bytes = 0;
  for (auto _ : state) bytes = PackSurface("SurfaceInCT", mesh, 0).size();
  state.counters["MB"] = static_cast<double>(bytes) / 1e6;
  if (bytes < 16 * mesh.vertices.size()) state.SkipWithError("not all of it");
}
BENCHMARK(BM_PackSurface)->Arg(50)->Arg(200)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lumen

BENCHMARK_MAIN();
