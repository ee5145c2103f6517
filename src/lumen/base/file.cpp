#include "lumen/base/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>

#include "lumen/base/error.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

std::string SystemReason() { return std::strerror(errno); }

void WriteAll(int descriptor, std::string_view content, const fs::path& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      throw OutputError(path, StrCat("cannot write: ", SystemReason()));
    }
    content.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

std::string ReadFile(const fs::path& path) {
  if (fs::is_directory(path)) throw InputError(path, "is a folder, not a file");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw InputError(path, fs::exists(path) ? "cannot be read" : "no such file");
  std::ostringstream content;
  content << stream.rdbuf();
  if (stream.bad()) throw InputError(path, "cannot be read to its end");
  return content.str();
}

void WriteFileAtomically(const fs::path& path, std::string_view content) {
  WriteFileAtomically(path, [&](const fs::path& temporary) {
    const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor < 0) throw OutputError(path, StrCat("cannot write: ", SystemReason()));
    try {
      WriteAll(descriptor, content, path);
    } catch (...) {
      ::close(descriptor);
      throw;
    }
    if (::close(descriptor) != 0) throw OutputError(path, StrCat("cannot write: ", SystemReason()));
  });
}

void WriteFileAtomically(const fs::path& path, const std::function<void(const fs::path&)>& write) {
  // Keeps the extension, because some writers choose the format by it.
  const fs::path temporary =
      path.parent_path() / StrCat(".", path.stem().string(), ".tmp", path.extension().string());
  std::error_code ignored;
  try {
    write(temporary);
    std::error_code error;
    fs::rename(temporary, path, error);
    if (error) throw OutputError(path, StrCat("cannot write: ", error.message()));
  } catch (...) {
    fs::remove(temporary, ignored);
    throw;
  }
}

void ReserveFile(const fs::path& path, size_t bytes, const fs::path& named) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) throw OutputError(named, StrCat("cannot write: ", SystemReason()));
  const int fault = ::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
  ::close(descriptor);
  if (fault != 0) throw OutputError(named, StrCat("cannot write: ", std::generic_category().message(fault)));
}

void OverwriteFile(const fs::path& path, std::string_view content) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) throw OutputError(path, StrCat("cannot write: ", SystemReason()));
  try {
    WriteAll(descriptor, content, path);
    if (::ftruncate(descriptor, static_cast<off_t>(content.size())) != 0)
      throw OutputError(path, StrCat("cannot write: ", SystemReason()));
  } catch (...) {
    ::close(descriptor);
    throw;
  }
  ::close(descriptor);
}

AppendFile::AppendFile(const fs::path& path)
    : path_(path), descriptor_(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (descriptor_ < 0) throw OutputError(path, StrCat("cannot write: ", SystemReason()));
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
  std::string pattern = (fs::temp_directory_path() / "lumen-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr)
    throw OutputError(pattern, StrCat("cannot make this folder: ", SystemReason()));
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace lumen
