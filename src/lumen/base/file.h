// Files: reading whole, and writing so that a crash or a full disk never leaves half a file under its
// real name. Every failure names the path.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lumen {

// Throws InputError if the file is missing or unreadable.
std::string ReadFile(const std::filesystem::path& path);

// Writes to a temporary beside the target, flushes, then renames. Throws OutputError and leaves the
// old file (if any) as it was.
void WriteFileAtomically(const std::filesystem::path& path, std::string_view content);

// The same for writers that want a path: `write(temporary)` makes the file, then it is renamed.
void WriteFileAtomically(const std::filesystem::path& path,
                         const std::function<void(const std::filesystem::path& temporary)>& write);

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
