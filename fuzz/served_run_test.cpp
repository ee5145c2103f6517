#include "fuzz/served_run.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

namespace lumen::fuzz {
namespace {

using std::chrono::milliseconds;

// Listens, with room for one that waits; who comes while it waits must ask again after a second.
class Crowded {
 public:
  Crowded() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address_);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address_), size), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address_), &size), 0);
    EXPECT_EQ(::listen(socket_, 0), 0);
    waiting_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(waiting_, reinterpret_cast<sockaddr*>(&address_), size), 0);
  }
  ~Crowded() {
    for (const int socket : accepted_) ::close(socket);
    ::close(waiting_);
    ::close(socket_);
  }
  Crowded(const Crowded&) = delete;
  Crowded& operator=(const Crowded&) = delete;

  const sockaddr_in& Address() const { return address_; }
  void TakeOne() { accepted_.push_back(::accept(socket_, nullptr, nullptr)); }

 private:
  int socket_, waiting_ = -1;
  sockaddr_in address_{};
  std::vector<int> accepted_;
};

TEST(ServedRun, AConnectionIsMadeThoughASignalComesMeanwhile) {
  struct sigaction action = {}, before = {};
  action.sa_handler = [](int) {};
  sigaction(SIGUSR1, &action, &before);  // without SA_RESTART, as libFuzzer's own
  Crowded crowded;
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::thread disturber([&, visitor = pthread_self()] {
    for (int i = 0; i < 3; ++i) {
      std::this_thread::sleep_for(milliseconds(100));
      pthread_kill(visitor, SIGUSR1);
    }
    crowded.TakeOne();
  });
  EXPECT_TRUE(ConnectTo(socket, crowded.Address(), 30000));
  disturber.join();
  ::close(socket);
  sigaction(SIGUSR1, &before, nullptr);
}

TEST(ServedRun, NobodyListeningIsSaidSo) {
  const sockaddr_in nowhere = Crowded().Address();
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_FALSE(ConnectTo(socket, nowhere, 1000));
  ::close(socket);
}

}  // namespace
}  // namespace lumen::fuzz
