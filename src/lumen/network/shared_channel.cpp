#include "lumen/network/shared_channel.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace lumen::channel {

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Layout::Layout(const Model& model)
    : pixels(static_cast<size_t>(model.depth.input_width) * static_cast<size_t>(model.depth.input_height)),
      angles(0),
      mask(angles + pixels * sizeof(float)),
      picture(mask + pixels),
      maps((picture + 3 * pixels + 63) / 64 * 64) {
  constexpr size_t kQuarter = 4;  // maps have half the width and half the height
  const auto channels = [](const NetworkSpec& spec) {
    return static_cast<size_t>(spec.OutputChannels(0) + spec.OutputChannels(1));
  };
  const size_t most = std::max(channels(model.feature) + 1, channels(model.depth));
  size = maps + pixels / kQuarter * most * sizeof(float);
}

Descriptor SharedMemory::Make(size_t size) {
  Descriptor made(::memfd_create("lumen", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (made.Get() < 0 || ::ftruncate(made.Get(), static_cast<off_t>(size)) != 0) throw std::bad_alloc();
  ::fcntl(made.Get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return made;
}

SharedMemory::SharedMemory(const Descriptor& file, size_t size) : size_(size) {
  const off_t end = ::lseek(file.Get(), 0, SEEK_END);
  const int seals = ::fcntl(file.Get(), F_GET_SEALS);
  if (end != static_cast<off_t>(size) || seals < 0 || (seals & F_SEAL_SHRINK) == 0) return;
  void* found = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.Get(), 0);
  if (found != MAP_FAILED) data_ = static_cast<uint8_t*>(found);
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

bool SendBytes(const Descriptor& socket, const void* data, size_t size) {
  while (true) {
    const ssize_t sent = ::send(socket.Get(), data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0 || errno != EINTR) return sent == static_cast<ssize_t>(size);
  }
}

bool ReceiveBytes(const Descriptor& socket, void* data, size_t size) {
  while (true) {
    const ssize_t got = ::recv(socket.Get(), data, size, MSG_TRUNC);
    if (got >= 0 || errno != EINTR) return got == static_cast<ssize_t>(size);
  }
}

bool SendHello(const Descriptor& socket, const Hello& hello, const Descriptor& file) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> beside{};
  iovec part{const_cast<Hello*>(&hello), sizeof(hello)};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = beside.data();
  message.msg_controllen = beside.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = file.Get();
  std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
  return ::sendmsg(socket.Get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(sizeof(hello));
}

bool ReceiveHello(const Descriptor& socket, Hello& hello, Descriptor& file) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> beside{};
  iovec part{&hello, sizeof(hello)};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = beside.data();
  message.msg_controllen = beside.size();
  if (::recvmsg(socket.Get(), &message, MSG_CMSG_CLOEXEC) != static_cast<ssize_t>(sizeof(hello)))
    return false;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof(int)))
    return false;
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
  file = Descriptor(fd);
  return true;
}

bool FillAddress(const std::filesystem::path& path, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  const std::string name = path.string();
  if (name.size() >= sizeof(address.sun_path)) return false;
  std::copy(name.begin(), name.end(), address.sun_path);
  return true;
}

Hello HelloOf(const Model& model, const std::string& precision) {
  Hello hello;
  hello.width = model.depth.input_width;
  hello.height = model.depth.input_height;
  std::copy_n(precision.begin(), std::min(precision.size(), hello.precision.size()), hello.precision.begin());
  std::copy_n(model.hash.begin(), std::min(model.hash.size(), kHashLength), hello.model.begin());
  return hello;
}

}  // namespace lumen::channel
