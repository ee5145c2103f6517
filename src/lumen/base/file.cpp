#include "lumen/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <optional>
#include <random>
#include <system_error>
#include <utility>

#include "lumen/base/error.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

std::string SystemReason() { return std::strerror(errno); }

[[noreturn]] void FailWrite(const fs::path& path) {
  throw OutputError(path, StrCat("cannot write: ", SystemReason()));
}

void WriteAll(int descriptor, std::string_view content, const fs::path& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      FailWrite(path);
    }
    content.remove_prefix(static_cast<size_t>(written));
  }
}

class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  ~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int Get() const { return descriptor_; }

 private:
  int descriptor_;
};

// A file may have grown since its size was asked for, and some (under /proc) say none.
std::string ReadToEnd(int descriptor, size_t expected, uint64_t most, const fs::path& path) {
  std::string content(expected + 1, '\0');
  size_t filled = 0;
  while (true) {
    const ssize_t count = ::read(descriptor, content.data() + filled, content.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw InputError(path, StrCat("cannot be read to its end: ", SystemReason()));
    if (count == 0) break;
    filled += static_cast<size_t>(count);
    if (filled > most) throw InputError(path, "grows while it is read");
    if (filled == content.size()) content.resize(2 * content.size());
  }
  content.resize(filled);
  return content;
}

// The open stream that a name stands for; -1 is nothing at all.
std::optional<int> StreamOf(const fs::path& path) {
  if (path == "-" || path == "/dev/stdout" || path == "/dev/fd/1") return STDOUT_FILENO;
  if (path == "/dev/stderr" || path == "/dev/fd/2") return STDERR_FILENO;
  if (path == "/dev/null") return -1;
  return std::nullopt;
}

void WriteToStream(int stream, std::string_view content, const fs::path& path) {
  if (stream < 0) return;
  std::cout.flush();
  WriteAll(stream, content, path);
}

void FlushEntry(const fs::path& folder) {
  const Descriptor descriptor(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  // Some file systems have no such thing for folders; the file itself is safe.
  if (descriptor.Get() >= 0) (void)::fsync(descriptor.Get());
}

// The names of the temporaries there are, where a signal's handler can read them: no locks, no memory taken.
// Who finds no place, or has too long a name, is not in it.
class TemporaryNames {
 public:
  // The place that was found, or -1.
  int Add(const std::string& name) {
    if (name.size() >= sizeof(Place::name)) return -1;
    for (int i = 0; i < kPlaces; ++i) {
      State free = State::kFree;
      if (!places_[i].state.compare_exchange_strong(free, State::kBeingWritten)) continue;
      std::memcpy(places_[i].name, name.c_str(), name.size() + 1);
      places_[i].state = State::kHeld;
      return i;
    }
    return -1;
  }
  void Drop(int place) {
    if (place >= 0) places_[place].state = State::kFree;
  }
  void RemoveAll() const {
    for (const Place& place : places_)
      if (place.state == State::kHeld) ::unlink(place.name);
  }

 private:
  enum class State { kFree, kBeingWritten, kHeld };
  struct Place {
    std::atomic<State> state = State::kFree;
    char name[1024];
  };
  static constexpr int kPlaces = 64;
  Place places_[kPlaces];
};

TemporaryNames temporary_names;

// A new file beside its target that takes the target's place, or goes.
class Temporary {
 public:
  explicit Temporary(const fs::path& target) : target_(target) {
    struct stat facts {};
    const bool exists = ::lstat(target.c_str(), &facts) == 0;
    if (exists && !S_ISREG(facts.st_mode)) {
      throw OutputError(target, StrCat("is ",
                                       S_ISDIR(facts.st_mode)   ? "a folder"
                                       : S_ISLNK(facts.st_mode) ? "a link"
                                                                : "not a regular file",
                                       ": it is not written over"));
    }
    Open();
    if (exists) {
      (void)!::fchown(descriptor_, facts.st_uid, facts.st_gid);  // as far as we may
      (void)::fchmod(descriptor_, facts.st_mode & 07777);
    }
  }
  ~Temporary() { Remove(); }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  int Get() const { return descriptor_; }
  const fs::path& Path() const { return path_; }

  void Commit(Flush flush) {
    if (flush == Flush::kNow && ::fdatasync(descriptor_) != 0) FailWrite(target_);
    if (::close(std::exchange(descriptor_, -1)) != 0) FailWrite(target_);
    if (::rename(path_.c_str(), target_.c_str()) != 0) FailWrite(target_);
    Forget();
    if (flush == Flush::kNow) FlushEntry(target_.parent_path());
  }

  void Remove() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
    if (!path_.empty()) ::unlink(path_.c_str());
    Forget();
  }

 private:
  void Forget() {
    path_.clear();
    temporary_names.Drop(std::exchange(place_, -1));
  }
  // The extension stays, because some writers choose the format by it.
  void Open() {
    static std::atomic<uint64_t> count = 0;
    constexpr size_t kLongestStem = 64;
    const std::string stem = target_.stem().string().substr(0, kLongestStem);
    constexpr int kTries = 100;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      path_ = target_.parent_path() /
              StrCat(".", stem, ".", std::random_device()() ^ ++count, ".tmp", target_.extension().string());
      place_ = temporary_names.Add(path_);
      descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
      if (descriptor_ >= 0) return;
      const int reason = errno;
      Forget();
      errno = reason;
      if (reason != EEXIST) break;
    }
    FailWrite(target_);
  }

  fs::path target_, path_;
  int descriptor_ = -1;
  int place_ = -1;  // of its name
};

}  // namespace

std::string ReadFile(const fs::path& path, uint64_t most) {
  // Not blocking: opening a pipe would wait for its writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.Get() < 0)
    throw InputError(path, errno == ENOENT || errno == ENOTDIR ? "no such file"
                                                               : StrCat("cannot be read: ", SystemReason()));
  struct stat facts {};
  if (::fstat(file.Get(), &facts) != 0) throw InputError(path, StrCat("cannot be read: ", SystemReason()));
  if (S_ISDIR(facts.st_mode)) throw InputError(path, "is a folder, not a file");
  if (!S_ISREG(facts.st_mode)) throw InputError(path, "is not a regular file");
  if (static_cast<uint64_t>(facts.st_size) > most)
    throw InputError(path,
                     StrCat("is larger than ", most >> 20, " MB, the most that is read of such a file"));
  return ReadToEnd(file.Get(), static_cast<size_t>(facts.st_size), most, path);
}

void WriteFileAtomically(const fs::path& path, std::string_view content, Flush flush) {
  if (const std::optional<int> stream = StreamOf(path)) return WriteToStream(*stream, content, path);
  Temporary temporary(path);
  WriteAll(temporary.Get(), content, path);
  temporary.Commit(flush);
}

void WriteFileAtomically(const fs::path& path, const std::function<void(const fs::path&)>& write,
                         Flush flush) {
  if (const std::optional<int> stream = StreamOf(path)) {
    const TemporaryFolder folder;
    const fs::path file = folder.Path() / StrCat("file", path.extension().string());
    write(file);
    return WriteToStream(*stream, ReadFile(file), path);
  }
  Temporary temporary(path);
  write(temporary.Path());
  temporary.Commit(flush);
}

void RemoveTemporaries() noexcept { temporary_names.RemoveAll(); }

void RequireWritable(const fs::path& path) {
  if (!StreamOf(path)) Temporary(path).Remove();
}

void FlushFolder(const fs::path& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (descriptor.Get() < 0 || ::syncfs(descriptor.Get()) != 0) FailWrite(folder);
}

void ReserveFile(const fs::path& path, size_t bytes, const fs::path& named) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.Get() < 0) FailWrite(named);
  const int fault = ::posix_fallocate(file.Get(), 0, static_cast<off_t>(bytes));
  if (fault != 0) throw OutputError(named, StrCat("cannot write: ", std::generic_category().message(fault)));
}

void OverwriteFile(const fs::path& path, std::string_view content) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.Get() < 0) FailWrite(path);
  WriteAll(file.Get(), content, path);
  if (::ftruncate(file.Get(), static_cast<off_t>(content.size())) != 0) FailWrite(path);
}

AppendFile::AppendFile(const fs::path& path)
    : path_(path),
      descriptor_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) FailWrite(path);
}

AppendFile::~AppendFile() { ::close(descriptor_); }

void AppendFile::Append(std::string_view text) {
  const off_t before = ::lseek(descriptor_, 0, SEEK_END);
  try {
    WriteAll(descriptor_, text, path_);
  } catch (...) {
    if (before >= 0 && ::ftruncate(descriptor_, before) != 0) {
      // A pipe or a device: there is nothing to cut.
    }
    throw;
  }
}

void MakeDirectories(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw OutputError(path, StrCat("cannot make this folder: ", error.message()));
}

std::vector<fs::path> ListFiles(const fs::path& folder) {
  if (!fs::exists(folder)) throw InputError(folder, "no such folder");
  if (!fs::is_directory(folder)) throw InputError(folder, "is not a folder");
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  if (error) throw InputError(folder, StrCat("cannot be listed: ", error.message()));
  std::sort(files.begin(), files.end());
  return files;
}

TemporaryFolder::TemporaryFolder() {
  std::error_code none;  // TMPDIR may name what is not there
  const fs::path wanted = fs::temp_directory_path(none);
  std::string pattern = ((none ? "/tmp" : wanted) / "lumen-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    throw OutputError(pattern, StrCat("cannot make this folder: ", SystemReason()));
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  // Most are empty by now, and then this wants no memory; what the first try lacked the second may have.
  if (::rmdir(path_.c_str()) == 0) return;
  std::error_code error;
  fs::remove_all(path_, error);
  if (error) fs::remove_all(path_, error);
}

}  // namespace lumen
