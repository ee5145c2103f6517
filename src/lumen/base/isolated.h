// Work that a library does which may crash on bad input: done by a copy of this process, so that its death is
// an InputError here. The copy is forked, shares nothing afterwards, has no open files but the line to us, no
// more than a bounded memory, and dies with us. It must not start threads, nor log.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace lumen {

// What the copy sends back, in records whose sizes the receiver knows or asks for.
class RecordWriter {
 public:
  explicit RecordWriter(int socket) : socket_(socket) {}
  void Write(const void* data, size_t bytes);
  void Write(std::string_view text) { Write(text.data(), text.size()); }
  template <typename T>
  void Put(const T& value) {
    Write(&value, sizeof(T));
  }

 private:
  int socket_;
};

class RecordReader {
 public:
  RecordReader(int socket, std::function<void()> fail) : socket_(socket), fail_(std::move(fail)) {}
  void Read(void* data, size_t bytes);  // the next record, which must be of this size
  std::string ReadText(size_t most);    // the next record, whatever its size up to this
  template <typename T>
  std::vector<T> ReadValues() {  // the next record, whatever its size
    const size_t bytes = NextSize();
    std::vector<T> values(bytes / sizeof(T));
    ReadBytes(values.data(), values.size() * sizeof(T));
    return values;
  }
  template <typename T>
  T Get() {
    T value;
    Read(&value, sizeof(T));
    return value;
  }

 private:
  friend class Isolated;
  size_t NextSize();
  void ReadBytes(void* data, size_t bytes);
  int socket_;
  std::function<void()> fail_;  // the line is cut: throws
};

class Isolated {
 public:
  using Work = std::function<void(std::string_view request, RecordWriter& out)>;

  // `source` is what is read (now), for messages; `work` answers one request after the other. An InputError
  // that it throws there is thrown by Ask here. The copy may take this much memory beyond what it has at
  // first.
  Isolated(std::function<std::string()> source, const Work& work, uint64_t memory = uint64_t{2} << 30);
  Isolated(const std::string& source, const Work& work) : Isolated([source] { return source; }, work) {}
  ~Isolated();
  Isolated(const Isolated&) = delete;
  Isolated& operator=(const Isolated&) = delete;

  void Ask(std::string_view request, const std::function<void(RecordReader&)>& receive);

 private:
  [[noreturn]] void FailDead();
  std::function<std::string()> source_;
  std::mutex asking_;  // one request at a time
  int socket_ = -1, process_ = -1;
};

}  // namespace lumen
