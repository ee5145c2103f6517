#include "lumen/igtl/link_socket.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "lumen/base/error.h"

namespace lumen {

namespace {

void SetSocketOption(const Socket& socket, int level, int option, int value) {
  ::setsockopt(socket.Descriptor(), level, option, &value, sizeof(value));
}

// What lies in the kernel's buffers cannot be replaced by what is newer: little shall lie there.
void PrepareForSending(const Socket& socket) {
  constexpr int buffer = 1 << 17, unsent = 1 << 10;
  SetSocketOption(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  SetSocketOption(socket, SOL_SOCKET, SO_SNDBUF, buffer);
  SetSocketOption(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, unsent);
  SetSocketOption(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
}

}  // namespace

Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::vector<SocketAddress> FindAddresses(const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int fault = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (fault != 0) throw InputError(StrCat("OpenIGTLink: no host \"", host, "\": ", ::gai_strerror(fault)));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> kept(found, ::freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    SocketAddress& address = addresses.emplace_back();
    std::memcpy(&address.bytes, each->ai_addr, each->ai_addrlen);
    address.size = each->ai_addrlen;
  }
  std::stable_partition(addresses.begin(), addresses.end(),
                        [](const SocketAddress& each) { return each.bytes.ss_family == AF_INET; });
  return addresses;
}

std::string FormatAddress(const SocketAddress& address) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  const int fault =
      ::getnameinfo(reinterpret_cast<const sockaddr*>(&address.bytes), address.size, host.data(), host.size(),
                    port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  if (fault != 0) return "somebody";
  const bool colons = address.bytes.ss_family == AF_INET6;
  return colons ? StrCat("[", host.data(), "]:", port.data()) : StrCat(host.data(), ":", port.data());
}

Socket ListenAt(const std::string& host, int port) {
  const SocketAddress address = FindAddresses(host, port).front();
  Socket socket(::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  SetSocketOption(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  constexpr int waiting = 16;
  if (!socket ||
      ::bind(socket.Descriptor(), reinterpret_cast<const sockaddr*>(&address.bytes), address.size) != 0 ||
      ::listen(socket.Descriptor(), waiting) != 0)
    throw InputError(
        StrCat("OpenIGTLink: port ", port, " at ", host, " cannot be had: ", std::strerror(errno)));
  return socket;
}

int PortOf(const Socket& socket) {
  SocketAddress address;
  address.size = sizeof(address.bytes);
  ::getsockname(socket.Descriptor(), reinterpret_cast<sockaddr*>(&address.bytes), &address.size);
  return ntohs(address.bytes.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6*>(&address.bytes)->sin6_port
                   : reinterpret_cast<const sockaddr_in*>(&address.bytes)->sin_port);
}

Accepted AcceptFrom(const Socket& listening) {
  SocketAddress from;
  from.size = sizeof(from.bytes);
  Socket socket(::accept4(listening.Descriptor(), reinterpret_cast<sockaddr*>(&from.bytes), &from.size,
                          SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket) return {};
  PrepareForSending(socket);
  return {std::move(socket), FormatAddress(from)};
}

Socket ConnectTo(const SocketAddress& address, int patience_ms, int wake) {
  Socket socket(::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return {};
  PrepareForSending(socket);
  const int begun =
      ::connect(socket.Descriptor(), reinterpret_cast<const sockaddr*>(&address.bytes), address.size);
  if (begun == 0) return socket;
  if (errno != EINPROGRESS) return {};
  std::array<pollfd, 2> waiting = {pollfd{socket.Descriptor(), POLLOUT, 0}, pollfd{wake, POLLIN, 0}};
  if (::poll(waiting.data(), waiting.size(), patience_ms) <= 0 || waiting[0].revents == 0) return {};
  int fault = 0;
  socklen_t size = sizeof(fault);
  ::getsockopt(socket.Descriptor(), SOL_SOCKET, SO_ERROR, &fault, &size);
  return fault == 0 ? std::move(socket) : Socket();
}

}  // namespace lumen
