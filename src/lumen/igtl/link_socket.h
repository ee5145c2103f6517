// Sockets of TCP that never block: nobody is waited for longer than was decided.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <utility>
#include <vector>

namespace lumen {

class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket();
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  int Descriptor() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_ = -1;
};

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

// Of a name or a number, those of IPv4 first; throws InputError where there is none such.
std::vector<SocketAddress> FindAddresses(const std::string& host, int port);
std::string FormatAddress(const SocketAddress& address);  // "127.0.0.1:18944"

// Throws InputError, with the port, where it cannot be had.
Socket ListenAt(const std::string& host, int port);
int PortOf(const Socket& socket);
struct Accepted {
  Socket socket;
  std::string from;
};
Accepted AcceptFrom(const Socket& listening);  // without a socket: there is nobody, or no descriptor left
// Waits until it is connected, `patience_ms` have passed or `wake` can be read; no socket: it is not.
Socket ConnectTo(const SocketAddress& address, int patience_ms, int wake);

}  // namespace lumen
