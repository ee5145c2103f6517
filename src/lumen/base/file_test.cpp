#include "lumen/base/file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

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

TEST(File, ATemporaryFolderIsMadeWhereTheNamedPlaceIsMissing) {
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", "/nowhere/at/all", 1);
  const TemporaryFolder folder;
  if (before == nullptr)
    ::unsetenv("TMPDIR");
  else
    ::setenv("TMPDIR", kept.c_str(), 1);
  EXPECT_TRUE(std::filesystem::is_directory(folder.Path()));
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

TEST(File, WhoIsEndedByASignalTakesItsTemporariesAlong) {
  const TemporaryFolder folder;
  const auto path = folder.Path() / "x.txt";
  WriteFileAtomically(path, "old");
  EXPECT_THROW(WriteFileAtomically(path,
                                   [&](const std::filesystem::path& temporary) {
                                     EXPECT_TRUE(std::filesystem::exists(temporary));
                                     RemoveTemporaries();
                                     EXPECT_FALSE(std::filesystem::exists(temporary));
                                   }),
               OutputError);
  EXPECT_EQ(ReadFile(path), "old");
  RemoveTemporaries();
  EXPECT_EQ(ListFiles(folder.Path()).size(), 1U) << "what is written is nobody's temporary";
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

TEST(File, ReadingWantsARegularFileWithinBounds) {
  const TemporaryFolder folder;
  const auto fault = [](const std::filesystem::path& path,
                        uint64_t most = limits::kFileBytes) -> std::string {
    try {
      ReadFile(path, most);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  ASSERT_EQ(mkfifo((folder.Path() / "pipe").c_str(), 0600), 0);
  EXPECT_NE(fault(folder.Path() / "pipe").find("not a regular file"), std::string::npos);
  EXPECT_NE(fault("/dev/zero").find("not a regular file"), std::string::npos);
  WriteFileAtomically(folder.Path() / "file", std::string(11, 'x'));
  EXPECT_NE(fault(folder.Path() / "file", 10).find("larger than"), std::string::npos);
  EXPECT_EQ(fault(folder.Path() / "file", 11), "");
  // A hole of any size is no file to read.
  std::filesystem::resize_file(folder.Path() / "file", uint64_t{1} << 40);
  EXPECT_NE(fault(folder.Path() / "file").find("larger than"), std::string::npos);
  std::filesystem::create_symlink(folder.Path() / "pipe", folder.Path() / "to-pipe");
  EXPECT_NE(fault(folder.Path() / "to-pipe").find("not a regular file"), std::string::npos);
  EXPECT_FALSE(ReadFile("/proc/self/status").empty()) << "such files say no size";
}

TEST(File, ReadErrorsAreNotTheEnd) {
  // Reading one's own memory at address 0 opens well and fails.
  EXPECT_THROW(ReadFile("/proc/self/mem"), InputError);
}

// What stands at the target and is no regular file stays, and so does what a planted link points to.
TEST(File, OnlyRegularFilesAreReplaced) {
  const TemporaryFolder folder;
  const std::filesystem::path victim = folder.Path() / "victim", link = folder.Path() / "link.txt";
  WriteFileAtomically(victim, "precious");
  std::filesystem::create_symlink(victim, link);
  EXPECT_THROW(WriteFileAtomically(link, "new"), OutputError);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  ASSERT_EQ(mkfifo((folder.Path() / "pipe").c_str(), 0600), 0);
  EXPECT_THROW(WriteFileAtomically(folder.Path() / "pipe", "new"), OutputError);
  std::filesystem::create_directory(folder.Path() / "folder");
  EXPECT_THROW(WriteFileAtomically(folder.Path() / "folder", "new"), OutputError);
  EXPECT_THROW(RequireWritable(folder.Path() / "folder"), OutputError);
  std::filesystem::create_symlink(victim, folder.Path() / ".x.tmp.txt");  // the name that was once taken
  WriteFileAtomically(folder.Path() / "x.txt", "new");
  EXPECT_EQ(ReadFile(victim), "precious");
  EXPECT_THROW(AppendFile{link}, OutputError);
}

TEST(File, DevicesThatStandForStreamsStay) {
  WriteFileAtomically("/dev/null", "gone");
  WriteFileAtomically("/dev/null", [](const std::filesystem::path& file) { std::ofstream(file) << "gone"; });
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  testing::internal::CaptureStdout();
  WriteFileAtomically("-", "to the stream\n");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "to the stream\n");
  EXPECT_FALSE(std::filesystem::exists("-"));
}

TEST(File, PermissionsAreKept) {
  const TemporaryFolder folder;
  const auto path = folder.Path() / "private.json";
  WriteFileAtomically(path, "a");
  namespace fs = std::filesystem;
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  WriteFileAtomically(path, "b");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  RequireWritable(path);
  EXPECT_EQ(ReadFile(path), "b");
  EXPECT_EQ(ListFiles(folder.Path()).size(), 1U);
}

TEST(File, LongNamesCanBeWritten) {
  const TemporaryFolder folder;
  const auto path = folder.Path() / (std::string(250, 'n') + ".txt");
  WriteFileAtomically(path, "a");
  EXPECT_EQ(ReadFile(path), "a");
}

}  // namespace
}  // namespace lumen
