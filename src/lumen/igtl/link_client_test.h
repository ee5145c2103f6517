// The other side of a link, written from the protocol's description alone: bytes, no library.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lumen/igtl/link_socket.h"

namespace lumen {

// ECMA-182, a bit at a time, from the highest.
inline uint64_t PlainCrc64(const std::string& bytes) {
  uint64_t crc = 0;
  for (const char c : bytes) {
    crc ^= static_cast<uint64_t>(static_cast<unsigned char>(c)) << 56;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 63) != 0 ? crc << 1 ^ 0x42F0E1EBA9EA3693 : crc << 1;
  }
  return crc;
}

class BytesIn {
 public:
  explicit BytesIn(const std::string& bytes, size_t at = 0) : bytes_(bytes), at_(at) {}
  uint64_t U(int count) {
    uint64_t value = 0;
    for (int i = 0; i < count; ++i) value = value << 8 | static_cast<unsigned char>(bytes_.at(at_++));
    return value;
  }
  float F32() { return std::bit_cast<float>(static_cast<uint32_t>(U(4))); }
  std::vector<float> Floats(size_t count) {
    std::vector<float> values;
    for (size_t i = 0; i < count; ++i) values.push_back(F32());
    return values;
  }
  std::string Text(size_t count) {  // without what it is filled up with
    const std::string all = bytes_.substr(at_, count);
    at_ += count;
    return all.substr(0, all.find('\0'));
  }
  size_t At() const { return at_; }

 private:
  const std::string& bytes_;
  size_t at_;
};

inline std::string BytesOut(uint64_t value, int count) {
  std::string bytes;
  for (int i = count - 1; i >= 0; --i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

struct PlainMessage {
  int version = 0;
  std::string type, device;
  double time = 0;
  std::string body;
  bool intact = false;  // by its checksum
};

inline constexpr size_t kPlainHeader = 58;

inline uint64_t PlainBodySize(const std::string& header) { return BytesIn(header, 42).U(8); }

inline PlainMessage ReadPlain(const std::string& bytes) {
  BytesIn in(bytes);
  PlainMessage message;
  message.version = static_cast<int>(in.U(2));
  message.type = in.Text(12);
  message.device = in.Text(20);
  message.time = static_cast<double>(in.U(4));
  message.time += static_cast<double>(in.U(4)) / 4294967296.0;
  const uint64_t size = in.U(8), crc = in.U(8);
  message.body = bytes.substr(kPlainHeader);
  message.intact = size == message.body.size() && crc == PlainCrc64(message.body);
  return message;
}

inline std::string MakePlain(const std::string& type, const std::string& body = "", int version = 1) {
  const auto fill = [](std::string text, size_t size) {
    text.resize(size, '\0');
    return text;
  };
  return BytesOut(static_cast<uint64_t>(version), 2) + fill(type, 12) + fill("Test", 20) + BytesOut(0, 8) +
         BytesOut(body.size(), 8) + BytesOut(PlainCrc64(body), 8) + body;
}

inline std::string MakeStartTracking(int resolution_ms) {
  return MakePlain("STT_TDATA",
                   BytesOut(static_cast<uint32_t>(resolution_ms), 4) + "RAS" + std::string(29, '\0'));
}

// Patient only so that a test that fails ends.
inline constexpr int kTestPatienceMs = 20000;

class PlainClient {
 public:
  explicit PlainClient(int port)
      : PlainClient(ConnectTo(FindAddresses("127.0.0.1", port).front(), kTestPatienceMs, -1)) {
    EXPECT_TRUE(socket_);
  }
  explicit PlainClient(Socket socket) : socket_(std::move(socket)) {}

  void Send(const std::string& bytes) {
    for (size_t sent = 0; sent < bytes.size();) {
      const ssize_t count =
          ::send(socket_.Descriptor(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count > 0) sent += static_cast<size_t>(count);
      // Once it was let go nothing can be sent, as the test will see.
      if (count < 0 && (errno != EAGAIN || !Wait(POLLOUT))) return;
    }
  }
  // None: the other side has closed.
  std::optional<PlainMessage> Receive() {
    std::string bytes;
    if (!Fill(bytes, kPlainHeader)) return std::nullopt;
    if (!Fill(bytes, kPlainHeader + static_cast<size_t>(PlainBodySize(bytes)))) return std::nullopt;
    PlainMessage message = ReadPlain(bytes);
    EXPECT_TRUE(message.intact) << message.type;
    return message;
  }
  // The next of this type; others are passed over.
  std::optional<PlainMessage> ReceiveA(const std::string& type) {
    while (std::optional<PlainMessage> message = Receive())
      if (message->type == type) return message;
    return std::nullopt;
  }
  bool HasNothingFor(int ms) {
    pollfd waiting{socket_.Descriptor(), POLLIN, 0};
    return ::poll(&waiting, 1, ms) == 0;
  }
  int Descriptor() const { return socket_.Descriptor(); }

 private:
  bool Wait(short events) const {
    pollfd waiting{socket_.Descriptor(), events, 0};
    return ::poll(&waiting, 1, kTestPatienceMs) == 1 && (waiting.revents & events) != 0;
  }
  bool Fill(std::string& bytes, size_t size) {
    while (bytes.size() < size) {
      if (!Wait(POLLIN)) return false;
      std::string part(size - bytes.size(), '\0');
      const ssize_t count = ::recv(socket_.Descriptor(), part.data(), part.size(), 0);
      if (count <= 0) return false;
      bytes += part.substr(0, static_cast<size_t>(count));
    }
    return true;
  }
  Socket socket_;
};

// One that is connected to.
class PlainServer {
 public:
  explicit PlainServer(int port = 0) : listening_(ListenAt("127.0.0.1", port)) {}
  int Port() const { return PortOf(listening_); }
  PlainClient Accept() {
    pollfd waiting{listening_.Descriptor(), POLLIN, 0};
    EXPECT_EQ(::poll(&waiting, 1, kTestPatienceMs), 1) << "nobody came";
    return PlainClient(AcceptFrom(listening_).socket);
  }

 private:
  Socket listening_;
};

// Waits for something that happens on another thread.
inline bool Becomes(const std::function<bool()>& what) {
  for (int waited = 0; waited < kTestPatienceMs; ++waited) {
    if (what()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return what();
}

}  // namespace lumen
