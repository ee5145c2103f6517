// A tar archive, gzipped or not, file after file, without taking it apart on disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace lumen {

struct TarEntry {
  std::string name;
  uint64_t bytes = 0;
};

class TarStream {
 public:
  explicit TarStream(const std::filesystem::path& path);  // throws InputError
  ~TarStream();
  TarStream(const TarStream&) = delete;
  TarStream& operator=(const TarStream&) = delete;

  std::optional<TarEntry> Next();  // the next regular file; what was not read of the last is passed over
  std::string Read();              // of the file that Next named

 private:
  void ReadExactly(char* to, size_t bytes);
  void Pass(uint64_t bytes);
  std::filesystem::path path_;
  struct File;
  std::unique_ptr<File> file_;
  uint64_t most_ = 0;  // bytes that the file can be unpacked to
  TarEntry entry_;
  uint64_t unread_ = 0;  // of the entry, with what fills its last block
};

}  // namespace lumen
