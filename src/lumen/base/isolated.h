// Work that a library does which may crash on bad input, or on a disk that takes no more: done by a copy of
// this process, so that its death is an error here. The copy is forked, shares nothing afterwards, has no
// open files but the line to us, no more than a bounded memory, and dies with this process (not with the
// thread that made it), whatever it is doing. It must not start threads, nor log.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace lumen {

// What the copy sends back, in records whose sizes the receiver knows or asks for. Large ones go over a
// board, a piece of memory that both have, as long as there is room on it; the others over the line.
class RecordWriter {
 public:
  RecordWriter(int socket, char* board) : socket_(socket), board_(board) {}
  void Write(const void* data, size_t bytes);
  void Write(std::string_view text) { Write(text.data(), text.size()); }
  template <typename T>
  void Put(const T& value) {
    Write(&value, sizeof(T));
  }

 private:
  int socket_;
  char* board_;  // where answers lie; null: there is none
  size_t used_ = 0;
};

class Isolated;

class RecordReader {
 public:
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
  explicit RecordReader(Isolated& owner) : owner_(owner) {}
  size_t NextSize();
  void ReadBytes(void* data, size_t bytes);      // of the record whose size was told
  void ReceiveOrFail(void* data, size_t bytes);  // of the line
  Isolated& owner_;
  bool on_board_ = false;  // that record
  size_t used_ = 0;        // of the board
};

class Isolated {
 public:
  using Work = std::function<void(std::string_view request, RecordWriter& out)>;
  enum class Task { kReads, kWrites };

  // `file` is what is read (now) or written, for messages; `work` answers one request after the other. What
  // it throws there, Ask throws here: of a copy that reads as an InputError in its own words, of one that
  // writes as an OutputError of `file` with these words. The copy may take this much memory beyond what it
  // has at first; one that reads and asks for more is at odds with its file, one that writes is out of
  // memory.
  Isolated(std::function<std::string()> file, const Work& work, Task task = Task::kReads,
           uint64_t memory = uint64_t{2} << 30);
  Isolated(const std::string& file, const Work& work, Task task = Task::kReads)
      : Isolated([file] { return file; }, work, task) {}
  ~Isolated();
  Isolated(const Isolated&) = delete;
  Isolated& operator=(const Isolated&) = delete;

  void Ask(std::string_view request, const std::function<void(RecordReader&)>& receive);

 private:
  friend class RecordReader;
  [[noreturn]] void Fail(const std::string& reason) const;  // of the file
  [[noreturn]] void FailDead();
  std::function<std::string()> file_;
  Task task_;
  std::mutex asking_;  // one request at a time
  int socket_ = -1, process_ = -1;
  char* board_ = nullptr;  // requests, then answers
  int life_ = -1;          // the copy dies when the last of this is closed
};

}  // namespace lumen
