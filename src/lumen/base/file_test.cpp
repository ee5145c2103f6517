#include "lumen/base/file.h"

#include <gtest/gtest.h>

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
