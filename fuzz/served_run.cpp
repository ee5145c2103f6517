#include "fuzz/served_run.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "fuzz/fuzz.h"
#include "fuzz/hdf5_lines.h"
#include "lumen/base/text.h"
#include "lumen/io/mesh_file.h"
#include "lumen/io/png.h"
#include "lumen/io/sage_hdf5.h"
#include "lumen/viewer/server.h"

namespace lumen::fuzz {

namespace {

std::string MapLines() {
  std::string lines =
      "format i64 1: 3\nmodel_hash i8 1: 97\nkeyframes i64 2: 0 1\nedges i64 3: 0 1 0\n"
      "camera f64 5: 8 8 7.5 7.5 0\nmask u8 16 16 1: 255\neroded_mask u8 16 16 1: 255\n";
  for (int k = 0; k < 2; ++k) {
    const std::string name = StrCat("keyframe", k);
    lines += StrCat(name, "/number i64 2: ", k, " 0\n", name, "/state f64 11: ", k, " 0 0 0 0 0 0 1 0 0 0\n",
                    name, "/image u8 32 32 3: 200 90 80\n", name, "/average_depth f32 16 16 1: 1 2 3\n", name,
                    "/features f16 16 16 16: 0.1 0.2 0.3 -0.4 0.5\n", name,
                    "/descriptors f16 16 16 16: 0.5 -0.2 0.1 0.7 0 -0.9 0.3\n", name,
                    "/bases f16 16 16 2: 0.1 -0.1 0.3\n", name, "/words i64 1: 1\n", name,
                    "/word_weights f64 1: 1\n");
  }
  return lines;
}

std::filesystem::path WriteRun() {
  WriteScratch(
      "run/summary.json",
      "{\"version\": \"0.1.0\", \"finished\": true, \"depth_scale\": 1000, \"camera\": {\"width\": 16, "
      "\"height\": 16, \"fx\": 8, \"fy\": 8, \"cx\": 7.5, \"cy\": 7.5}}");
  const std::string poses = "0 0 0 0 0 0 0 1\n1 0.1 0 0 0 0 0 1\n";
  WriteScratch("run/frames.tum", poses);
  WriteScratch("run/keyframes.tum", poses);
  WriteScratch(
      "run/events.jsonl",
      "{\"frame\": 0, \"time\": 0, \"status\": \"tracked\", \"keyframe\": true}\n"
      "{\"frame\": 1, \"time\": 1, \"status\": \"weak\", \"reason\": \"dark\", \"keyframe\": true}\n");
  WriteScratch("run/images/000000.png", EncodePng(RgbImage(16, 16, 3, 100).View()));
  WriteScratch(
      "run/surface.ply",
      "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
      "element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n");
  if (HaveHdf5()) WriteHdf5("run/map.h5", MapLines());
  return Scratch() / "run";
}

ViewServer& Server() {
  static const auto server = std::make_unique<ViewServer>(
      ServedRun().Store(), [](const std::string& path) { return ServedRun().Find(path); },
      ServerOptions{.port = 0, .ports_tried = 0});
  return *server;
}

// From one of many loopback addresses: a port that was used is not free again for a minute.
sockaddr_in NextAddress() {
  static uint32_t visits = 0;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  constexpr uint32_t kLoopback = 0x7f000000, kAddresses = 1 << 20;
  address.sin_addr.s_addr = htonl(kLoopback + 2 + visits++ % kAddresses);
  return address;
}

}  // namespace

RunView& ServedRun() {
  static const auto view = std::make_unique<RunView>(WriteRun());
  return *view;
}

bool ConnectTo(int socket, const sockaddr_in& address, int patience_ms) {
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return true;
  if (errno != EINTR) return false;
  pollfd waiting{socket, POLLOUT, 0};
  int ready = 0;
  do ready = ::poll(&waiting, 1, patience_ms);
  while (ready < 0 && errno == EINTR);
  int fault = 0;
  socklen_t size = sizeof(fault);
  return ready > 0 && ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &fault, &size) == 0 && fault == 0;
}

Visit::Visit() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = NextAddress();
  Expect(::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0,
         "an address of our own");
  constexpr int kPatience = 60;  // libFuzzer has less
  const timeval patience{kPatience, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(Server().Port()));
  Expect(ConnectTo(socket_, address, kPatience * 1000), "the server listens");
}

Visit::~Visit() { ::close(socket_); }

std::string Visit::Host() { return StrCat("127.0.0.1:", Server().Port()); }

void Visit::Send(const std::string& bytes) {
  // It may have had enough before the end, which is its right.
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    sent += static_cast<size_t>(count);
  }
}

std::string Visit::Receive(size_t most) {
  std::string part(most, '\0');
  ssize_t count = 0;
  do count = ::recv(socket_, part.data(), most, 0);
  while (count < 0 && errno == EINTR);  // libFuzzer's clock
  Expect(count >= 0 || errno == ECONNRESET, "the server answers or closes in time");
  part.resize(count > 0 ? static_cast<size_t>(count) : 0);
  return part;
}

std::string Visit::ReceiveHead() {
  std::string head;
  while (!EndsWith(head, "\r\n\r\n")) {
    const std::string next = Receive(1);
    if (next.empty()) break;
    head += next;
  }
  return head;
}

std::string Visit::Finish() {
  ::shutdown(socket_, SHUT_WR);
  std::string all;
  constexpr size_t kAtOnce = 1 << 16;
  for (std::string part = Receive(kAtOnce); !part.empty(); part = Receive(kAtOnce)) all += part;
  return all;
}

void ExpectItGoesOn() {
  static int inputs = 0;
  constexpr int kEvery = 32;
  if (++inputs % kEvery != 0) return;
  Visit visit;
  visit.Send(StrCat("GET /download/frames.tum HTTP/1.1\r\nHost: ", Visit::Host(), "\r\n\r\n"));
  Expect(StartsWith(visit.Finish(), "HTTP/1.1 200"), "the server goes on");
}

}  // namespace lumen::fuzz
