// How programs that share networks speak: a socket for a few bytes a frame, and memory that both see for
// pictures and maps.
#pragma once

#include <sys/un.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "lumen/network/weights.h"

namespace lumen::channel {

// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int Get() const { return fd_; }

 private:
  int fd_;
};

constexpr uint32_t kMagic = 0x4c4e4554;  // and with it the layout of what follows
constexpr size_t kHashLength = 64;

// The first message of a client, with its memory beside it; the answer is one byte.
struct Hello {
  uint32_t magic = kMagic;
  int32_t width = 0, height = 0;
  std::array<char, 8> precision{};
  std::array<char, kHashLength + 4> model{};  // no gap behind it: greetings are compared byte by byte
};
enum class Answer : uint8_t { kDone = 1, kRefused = 2 };

// What lies in a client's memory, one part after the other: the view, a picture, the maps of the last run.
struct Layout {
  explicit Layout(const Model& model);
  size_t pixels, angles, mask, picture, maps, size = 0;
};

// Memory that another process has been handed, or is handed.
class SharedMemory {
 public:
  // Throws std::bad_alloc. Its size cannot shrink any more: nobody falls off its end.
  static Descriptor Make(size_t size);
  // Null data where it is not of this size, or may shrink.
  SharedMemory(const Descriptor& file, size_t size);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  uint8_t* Data() const { return data_; }

 private:
  size_t size_;
  uint8_t* data_ = nullptr;
};

bool SendBytes(const Descriptor& socket, const void* data, size_t size);
// A message of exactly this size; false where the other end is gone or says something else.
bool ReceiveBytes(const Descriptor& socket, void* data, size_t size);
// The same of a greeting with memory beside it.
bool SendHello(const Descriptor& socket, const Hello& hello, const Descriptor& file);
bool ReceiveHello(const Descriptor& socket, Hello& hello, Descriptor& file);
// False where the name is too long for a socket.
bool FillAddress(const std::filesystem::path& path, sockaddr_un& address);
Hello HelloOf(const Model& model, const std::string& precision);

}  // namespace lumen::channel
