#include "lumen/base/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>

#include "lumen/base/error.h"

namespace lumen {
namespace {

TEST(File, WrittenContentReadsBack) {
  const TemporaryFolder folder;
  const std::string content("a\0b\n", 4);
  WriteFileAtomically(folder.Path() / "x.bin", content);
  EXPECT_EQ(ReadFile(folder.Path() / "x.bin"), content);
  EXPECT_EQ(ListFiles(folder.Path()).size(), 1U) << "no temporary is left";
}

TEST(File, FailedWriteLeavesTheOldFileAndNoTemporary) {
  const TemporaryFolder folder;
  const auto path = folder.Path() / "x.txt";
  WriteFileAtomically(path, "old");
  EXPECT_THROW(WriteFileAtomically(path,
                                   [](const std::filesystem::path& temporary) {
                                     std::ofstream(temporary) << "half";
                                     throw OutputError(temporary, "disk full");
                                   }),
               OutputError);
  EXPECT_EQ(ReadFile(path), "old");
  EXPECT_EQ(ListFiles(folder.Path()).size(), 1U);
}

TEST(File, FullDiskIsAnOutputError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP();
  AppendFile file("/dev/full");
  EXPECT_THROW(file.Append("x"), OutputError);
}

// Files of this process may not grow beyond so many bytes, as long as the object lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST(File, AnAppendThatFailsLeavesNoHalfLine) {
  const TemporaryFolder folder;
  AppendFile file(folder.Path() / "log");
  file.Append("whole\n");
  const FileSizeLimit limit(10);
  EXPECT_THROW(file.Append("too long for it\n"), OutputError);
  EXPECT_EQ(ReadFile(folder.Path() / "log"), "whole\n");
}

TEST(File, OverwritingWantsNoRoomOfItsOwn) {
  const TemporaryFolder folder;
  const auto path = folder.Path() / "x.txt";
  WriteFileAtomically(path, "the old content");
  OverwriteFile(path, "the new");
  EXPECT_EQ(ReadFile(path), "the new");
  EXPECT_THROW(OverwriteFile(folder.Path() / "absent", "x"), OutputError);
}

TEST(File, MissingFileAndFolderAreNamed) {
  EXPECT_THROW(ReadFile("/nowhere/x"), InputError);
  EXPECT_THROW(ListFiles("/nowhere"), InputError);
  EXPECT_THROW(WriteFileAtomically("/nowhere/x", "y"), OutputError);
}

TEST(File, AppendFileAddsToWhatIsThere) {
  const TemporaryFolder folder;
  const auto path = folder.Path() / "log";
  { AppendFile(path).Append("a\n"); }
  { AppendFile(path).Append("b\n"); }
  EXPECT_EQ(ReadFile(path), "a\nb\n");
}

}  // namespace
}  // namespace lumen
