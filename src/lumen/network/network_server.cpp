#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <list>
#include <thread>

#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/network/shared_channel.h"
#include "lumen/network/shared_networks.h"

namespace lumen {

namespace fs = std::filesystem;
using channel::Answer;
using channel::Descriptor;
using channel::FillAddress;
using channel::Hello;
using channel::HelloOf;
using channel::Layout;
using channel::ReceiveBytes;
using channel::ReceiveHello;
using channel::SendBytes;
using channel::SharedMemory;

class NetworkServer::Serving {
 public:
  Serving(std::unique_ptr<NetworkRows> rows, const Hello& served, const Model& model, const fs::path& path);
  ~Serving();
  Counts Count() const { return {runs_, frames_}; }

 private:
  struct Client {
    Client(Descriptor connection, const Descriptor& file, size_t size)
        : socket(std::move(connection)), memory(file, size) {}
    Descriptor socket;
    SharedMemory memory;
    int waits_for = -1;  // a program
    bool gone = false;
  };
  // What a row was told of the video whose frame it computed last.
  struct Row {
    std::vector<uint8_t> view;
    int64_t used = -1;  // in which run
  };

  void Run();
  void Serve();
  void Accept();
  void Listen(Client& client);
  int FindRow(const Client& client, NetworkRows::Program program);
  bool RunProgram(NetworkRows::Program program);  // false: nobody waited for it
  LensView ViewOf(const Client& client) const;

  std::unique_ptr<NetworkRows> rows_;
  Hello served_;
  Layout layout_;
  fs::path path_;
  Descriptor door_, bell_, rung_;  // the bell ends the server
  std::list<Client> clients_;
  std::array<std::vector<Row>, NetworkRows::kPrograms> lent_;
  std::atomic<int64_t> runs_{0}, frames_{0};
  std::thread thread_;
};

NetworkServer::Serving::Serving(std::unique_ptr<NetworkRows> rows, const Hello& served, const Model& model,
                                const fs::path& path)
    : rows_(std::move(rows)), served_(served), layout_(model), path_(path) {
  for (auto& lent : lent_) lent.resize(static_cast<size_t>(rows_->Count()));
  sockaddr_un address;
  if (!FillAddress(path, address)) throw InputError(path, "too long a name for a socket");
  door_ = Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const mode_t before = ::umask(0077);  // for this user alone
  const bool open = ::bind(door_.Get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 &&
                    ::listen(door_.Get(), 64) == 0;
  const int fault = errno;
  ::umask(before);
  std::array<int, 2> ends{};
  if (!open || ::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw InputError(path, StrCat("cannot serve networks there: ", std::strerror(fault)));
  rung_ = Descriptor(ends[0]);
  bell_ = Descriptor(ends[1]);
  thread_ = std::thread([this] { Run(); });
}

NetworkServer::Serving::~Serving() {
  (void)!::write(bell_.Get(), "", 1);
  thread_.join();
  std::error_code ignored;
  fs::remove(path_, ignored);
}

// A device that fails ends the sharing, not the program: who comes then finds nobody.
void NetworkServer::Serving::Run() {
  try {
    Serve();
  } catch (const std::exception& error) {
    const std::string what = error.what();
    LogError("the networks are shared no longer: ", what.substr(0, what.find('\n')));
    clients_.clear();
    door_ = Descriptor();
  }
}

void NetworkServer::Serving::Serve() {
  while (true) {
    std::vector<pollfd> watched = {{rung_.Get(), POLLIN, 0}, {door_.Get(), POLLIN, 0}};
    for (const Client& client : clients_) watched.push_back({client.socket.Get(), POLLIN, 0});
    if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR) return;
    if (watched[0].revents != 0) return;
    size_t i = 2;
    for (Client& client : clients_)
      if (watched[i++].revents != 0) Listen(client);
    if (watched[1].revents != 0) Accept();
    for (const auto program : {NetworkRows::kLive, NetworkRows::kBasis}) {
      while (RunProgram(program)) continue;
    }
    clients_.remove_if([](const Client& client) { return client.gone; });
  }
}

void NetworkServer::Serving::Accept() {
  Descriptor connection(::accept4(door_.Get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (connection.Get() < 0) {  // no more descriptors, perhaps: not to be asked again at once
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return;
  }
  // Who has come through the door speaks at once, or is not one of ours.
  constexpr timeval kPatience = {2, 0};
  ::setsockopt(connection.Get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
  Hello hello;
  Descriptor file;
  Answer answer = Answer::kRefused;
  if (!ReceiveHello(connection, hello, file) || std::memcmp(&hello, &served_, sizeof(hello)) != 0) {
    SendBytes(connection, &answer, sizeof(answer));
    return;
  }
  Client& client = clients_.emplace_back(std::move(connection), file, layout_.size);
  client.gone = client.memory.Data() == nullptr;
  if (!client.gone) answer = Answer::kDone;
  SendBytes(client.socket, &answer, sizeof(answer));
}

// A client asks for a program by its number.
void NetworkServer::Serving::Listen(Client& client) {
  uint8_t program = 0;
  if (!ReceiveBytes(client.socket, &program, 1) || program >= NetworkRows::kPrograms || client.waits_for >= 0)
    client.gone = true;
  else
    client.waits_for = program;
}

LensView NetworkServer::Serving::ViewOf(const Client& client) const {
  Mask mask(served_.width, served_.height);
  std::copy_n(client.memory.Data() + layout_.mask, layout_.pixels, mask.Data());
  LensView view(mask);
  std::memcpy(view.angles.Data(), client.memory.Data() + layout_.angles, layout_.pixels * sizeof(float));
  return view;
}

// A row that this run does not use yet: best one that knows the client's view already, then the one that was
// used longest ago; -1: there is none left. Videos of one scope share their rows for nothing.
int NetworkServer::Serving::FindRow(const Client& client, NetworkRows::Program program) {
  const uint8_t* view = client.memory.Data();
  int found = -1;
  bool same = false;
  std::vector<Row>& rows = lent_[program];
  for (size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].used == runs_) continue;
    const bool knows = rows[r].view.size() == layout_.picture &&
                       std::memcmp(rows[r].view.data(), view, layout_.picture) == 0;
    if (found >= 0 && (same || !knows) &&
        (same != knows || rows[static_cast<size_t>(found)].used <= rows[r].used))
      continue;
    found = static_cast<int>(r);
    same = knows;
  }
  if (found < 0) return -1;
  Row& row = rows[static_cast<size_t>(found)];
  row.used = runs_;
  if (same) return found;
  row.view.assign(view, view + layout_.picture);
  rows_->SetView(program, found, ViewOf(client));
  return found;
}

bool NetworkServer::Serving::RunProgram(NetworkRows::Program program) {
  std::vector<std::pair<Client*, int>> waiting;
  for (Client& client : clients_) {
    if (client.gone || client.waits_for != program) continue;
    const int row = FindRow(client, program);
    if (row < 0) break;  // the next run is theirs
    std::copy_n(client.memory.Data() + layout_.picture, 3 * layout_.pixels, rows_->Picture(program, row));
    waiting.emplace_back(&client, row);
  }
  if (waiting.empty()) return false;
  rows_->Run(program);
  ++runs_;
  for (const auto& [client, row] : waiting) {
    uint8_t* to = client->memory.Data() + layout_.maps;
    for (const NetworkRows::Map& map : rows_->Maps(program, row)) {
      std::memcpy(to, map.data, map.Size() * sizeof(float));
      to += map.Size() * sizeof(float);
    }
    client->waits_for = -1;
    ++frames_;
    const Answer done = Answer::kDone;
    if (!SendBytes(client->socket, &done, sizeof(done))) client->gone = true;
  }
  return true;
}

NetworkServer::NetworkServer(std::unique_ptr<NetworkRows> rows, const Model& model,
                             const PriorsOptions& options, const fs::path& path)
    : serving_(std::make_unique<Serving>(std::move(rows), HelloOf(model, options.precision), model, path)) {}
NetworkServer::~NetworkServer() = default;
NetworkServer::Counts NetworkServer::Count() const { return serving_->Count(); }

}  // namespace lumen
