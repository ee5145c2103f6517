#include "lumen/igtl/navigation_link.h"

#include <poll.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>

#include "lumen/base/error.h"
#include "lumen/base/limits.h"
#include "lumen/base/log.h"
#include "lumen/base/step_back.h"
#include "lumen/igtl/link_peer.h"
#include "lumen/scene/thin_mesh.h"

namespace lumen {

namespace {

constexpr int kConnectMs = 5000;
constexpr int kAcceptPauseMs = 200;  // where no descriptors are left, asking again at once would not make any

std::shared_ptr<const std::string> Keep(std::string bytes) {
  return std::make_shared<const std::string>(std::move(bytes));
}

}  // namespace

std::vector<std::string> LinkMessageTypes() {
  return {"TRANSFORM", "TDATA", "STATUS", "STRING", "IMAGE", "POLYDATA", "CAPABILITY"};
}

bool HaveNavigationLink() { return true; }

class NavigationLink::Impl {
 public:
  explicit Impl(const LinkOptions& options_in);
  ~Impl();

  void Offer(std::shared_ptr<const TriangleMesh> mesh);
  int Clients() const { return clients_; }
  int Port() const { return port_; }
  LinkBoard board;

 private:
  struct Guest {
    std::unique_ptr<LinkPeer> peer;
    std::thread thread;
    std::atomic<bool> gone = false;
  };
  void Serve();
  void Welcome(Accepted accepted);
  void LetGo(bool all);
  void CallOut();
  bool Pause(int ms);  // false: it is over
  void PackSurfaces();

  LinkOptions options_;
  int port_ = 0;
  std::vector<SocketAddress> addresses_;
  Socket listening_;
  WakeUp wake_;  // of the thread that serves or calls
  std::atomic<bool> stop_ = false;
  std::atomic<int> clients_ = 0;
  std::list<Guest> guests_;  // that thread's alone
  bool refusing_ = false;

  std::mutex mutex_;  // guards the surface that waits to be packed
  std::condition_variable offered_;
  std::shared_ptr<const TriangleMesh> surface_;
  bool closed_ = false;
  std::thread packer_, thread_;
};

NavigationLink::Impl::Impl(const LinkOptions& options_in) : options_(options_in) {
  // The library looks for its own plugins with the first message of a process, which two threads must not.
  PackText(link_name::kDevice, "", 0);
  if (options_.connects)
    addresses_ = FindAddresses(options_.host, options_.port);
  else
    listening_ = ListenAt(options_.host, options_.port);
  port_ = options_.connects ? options_.port : PortOf(listening_);
  if (!options_.connects) board.SetBell(&wake_);
  packer_ = std::thread([this] { PackSurfaces(); });
  thread_ = std::thread([this] { options_.connects ? CallOut() : Serve(); });
}

NavigationLink::Impl::~Impl() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  offered_.notify_all();
  packer_.join();
  stop_ = true;
  wake_.Ring();
  board.Ring();
  thread_.join();
}

bool NavigationLink::Impl::Pause(int ms) {
  pollfd waiting{wake_.Descriptor(), POLLIN, 0};
  ::poll(&waiting, 1, ms);
  return !stop_;
}

void NavigationLink::Impl::Serve() {
  while (!stop_) {
    std::array<pollfd, 2> waiting = {pollfd{listening_.Descriptor(), POLLIN, 0},
                                     pollfd{wake_.Descriptor(), POLLIN, 0}};
    ::poll(waiting.data(), waiting.size(), -1);
    if (waiting[1].revents != 0) {
      wake_.Hear();
      board.Ring();
    }
    LetGo(false);
    if (waiting[0].revents == 0) continue;
    Accepted accepted = AcceptFrom(listening_);
    if (accepted.socket)
      Welcome(std::move(accepted));
    else
      Pause(kAcceptPauseMs);
  }
  LetGo(true);
}

void NavigationLink::Impl::Welcome(Accepted accepted) {
  if (clients_ >= options_.most_clients) {
    if (!std::exchange(refusing_, true))
      LogWarning("OpenIGTLink: ", accepted.from, " is refused: ", options_.most_clients, " are connected");
    return;
  }
  Guest& guest = guests_.emplace_back();
  try {
    guest.peer = std::make_unique<LinkPeer>(board, std::move(accepted.socket),
                                            std::chrono::milliseconds(options_.patience_ms));
    ++clients_;
    LogInfo("OpenIGTLink: ", accepted.from, " is connected");
    guest.thread = std::thread([this, &guest, from = std::move(accepted.from)] {
      const std::string why = guest.peer->Run(stop_);
      --clients_;
      if (!stop_) LogInfo("OpenIGTLink: ", from, " is let go: ", why);
      guest.gone = true;
      wake_.Ring();
    });
  } catch (const std::exception& error) {  // no descriptor, no thread: one guest less
    LogWarning("OpenIGTLink: ", error.what());
    if (guest.peer != nullptr) --clients_;
    guests_.pop_back();
  }
}

void NavigationLink::Impl::LetGo(bool all) {
  if (all) board.Ring();
  for (auto guest = guests_.begin(); guest != guests_.end();) {
    if (!all && !guest->gone) {
      ++guest;
      continue;
    }
    guest->thread.join();
    guest = guests_.erase(guest);
    refusing_ = false;
  }
}

void NavigationLink::Impl::CallOut() {
  const std::string whom = StrCat(options_.host, ":", options_.port);
  bool said = false;
  do {
    Socket socket;
    for (size_t i = 0; i < addresses_.size() && !socket && !stop_; ++i)
      socket = ConnectTo(addresses_[i], kConnectMs, wake_.Descriptor());
    if (!socket) {
      if (!stop_ && !std::exchange(said, true))
        LogWarning("OpenIGTLink: nobody answers at ", whom, "; it is tried again and again");
      continue;
    }
    said = false;
    LogInfo("OpenIGTLink: connected to ", whom);
    LinkPeer peer(board, std::move(socket), std::chrono::milliseconds(options_.patience_ms));
    clients_ = 1;
    const std::string why = peer.Run(stop_);
    clients_ = 0;
    if (!stop_) LogInfo("OpenIGTLink: the connection to ", whom, " ended: ", why);
  } while (Pause(options_.retry_ms));
}

void NavigationLink::Impl::Offer(std::shared_ptr<const TriangleMesh> mesh) {
  {
    const std::lock_guard lock(mutex_);
    surface_ = std::move(mesh);
  }
  offered_.notify_all();
}

// A large surface takes tenths of a second to be packed, which is nobody's business but this thread's.
void NavigationLink::Impl::PackSurfaces() {
  StepBack();
  std::unique_lock lock(mutex_);
  while (true) {
    offered_.wait(lock, [&] { return closed_ || surface_ != nullptr; });
    if (surface_ == nullptr) return;
    const std::shared_ptr<const TriangleMesh> mesh = std::exchange(surface_, nullptr);
    lock.unlock();
    try {
      const TriangleMesh thin = ThinMesh(*mesh, {.vertices = options_.most_vertices});
      if (!thin.vertices.empty())
        board.Put({{LinkItem::kSurface, {.bytes = Keep(PackSurface(link_name::kSurface, thin, LinkNow()))}}});
    } catch (const std::bad_alloc&) {
      LogWarning("OpenIGTLink: too little memory for the surface");
    }
    lock.lock();
  }
}

NavigationLink::NavigationLink(const LinkOptions& options) : impl_(std::make_unique<Impl>(options)) {}
NavigationLink::~NavigationLink() = default;

void NavigationLink::SendPose(const std::string& device, const Rigid3& pose, double time) {
  if (!pose.Translation().allFinite()) return DropPose();
  impl_->board.Put({{LinkItem::kTransform, {.bytes = Keep(PackTransform(device, pose, time))}},
                    {LinkItem::kTracking, {.bytes = Keep(PackTracking(device, pose, time))}}});
}

void NavigationLink::DropPose() { impl_->board.Put({{LinkItem::kTransform, {}}, {LinkItem::kTracking, {}}}); }

void NavigationLink::SendState(const LinkState& state) {
  const double now = LinkNow();
  impl_->board.Put(
      {{LinkItem::kStatus, {.bytes = Keep(PackStatus(link_name::kDevice, state, now))}},
       {LinkItem::kText, {.bytes = Keep(PackText(link_name::kState, state.words, now))}},
       {LinkItem::kMachineText, {.bytes = Keep(PackText(link_name::kMachineState, state.machine, now))}}});
}

void NavigationLink::SendSurface(std::shared_ptr<const TriangleMesh> ras_mesh) {
  impl_->Offer(std::move(ras_mesh));
}

void NavigationLink::SendPicture(const RgbImage& picture, double time) {
  if (picture.Empty() || picture.Channels() != 3 ||
      static_cast<uint64_t>(picture.Width()) * static_cast<uint64_t>(picture.Height()) > limits::kImagePixels)
    return;
  impl_->board.Put(
      {{LinkItem::kPicture, {.picture = std::make_shared<const RgbImage>(picture), .time = time}}});
}

int NavigationLink::Port() const { return impl_->Port(); }
int NavigationLink::Clients() const { return impl_->Clients(); }

}  // namespace lumen
