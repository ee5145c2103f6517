// Files: reading whole and within bounds, and writing so that a crash or a full disk never leaves half a file
// under its real name. Every failure names the path.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lumen/base/limits.h"

namespace lumen {

// Throws InputError if the file is missing, unreadable, larger than `most`, or no regular file (a link to one
// is followed): a pipe would never end, and a device may be anything.
std::string ReadFile(const std::filesystem::path& path, uint64_t most = limits::kFileBytes);

// Whether a file that was written is on the disk when the call returns, or whenever the system sees fit,
// which only a power cut can tell apart. Writers of many files in a row choose the latter and call
// FlushFolder in the end.
enum class Flush { kNow, kLater };

// Writes to a temporary beside the target under a name that nobody else has, then renames. An existing file
// keeps its permissions. Throws OutputError, leaving what was there as it was; what is neither a regular file
// nor absent (a device, a link, a folder) is never replaced. "-" and /dev/stdout are standard output,
// /dev/stderr is the other, and /dev/null takes everything.
void WriteFileAtomically(const std::filesystem::path& path, std::string_view content,
                         Flush flush = Flush::kNow);

// The same for writers that want a path: `write(temporary)` fills the empty file there.
void WriteFileAtomically(const std::filesystem::path& path,
                         const std::function<void(const std::filesystem::path& temporary)>& write,
                         Flush flush = Flush::kNow);

// For a program that is ended by a signal: what is being written aside goes. Safe to call from a handler.
void RemoveTemporaries() noexcept;

// Throws OutputError if WriteFileAtomically would refuse the target, or its folder takes no files: asked
// before long work, not after it.
void RequireWritable(const std::filesystem::path& path);

// All that was written to the file system the folder lies on is on the disk afterwards.
void FlushFolder(const std::filesystem::path& folder);

// Takes this much of the disk for an existing file, so that whoever writes it next does not run out of it.
// Throws OutputError, which speaks of `named`.
void ReserveFile(const std::filesystem::path& path, size_t bytes, const std::filesystem::path& named);

// Overwrites an existing file where it lies: what a full disk still takes, as long as the file does not grow
// by a block. Not for a crash: half of the old may remain behind half of the new. Throws OutputError.
void OverwriteFile(const std::filesystem::path& path, std::string_view content);

// An append-only log whose lines survive a crash of the process as soon as Append returns. An Append that
// fails leaves nothing of its text behind, as far as the disk allows.
class AppendFile {
 public:
  explicit AppendFile(const std::filesystem::path& path);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;
  void Append(std::string_view text);

 private:
  std::filesystem::path path_;
  int descriptor_;
};

void MakeDirectories(const std::filesystem::path& path);  // throws OutputError
std::vector<std::filesystem::path> ListFiles(
    const std::filesystem::path& folder);  // sorted by name; throws InputError

// A folder under the system's temporary place, removed with all it holds when the object goes.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& Path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace lumen
