// `lumen run` killed, interrupted, and with a disk, an input or a memory that fails at any moment.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>

#include "lumen/base/text.h"
#include "tests/faults/harness.h"
#include "tests/faults/run_checks.h"
#include "tests/faults/watched_run.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;

class RunFaults : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    const Ending made = Start({"lumen", "-q", "simulate", Path("in"), "--anatomy", "colon", "--seed", "7",
                               "--frames", "16", "--size", "160x128", "--no-model"},
                              folder_->Path());
    ASSERT_EQ(made.code, 0) << made.err;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string Path(const std::string& name) { return (folder_->Path() / name).string(); }

  static TriedCommand Run() {
    const std::string run = Path("out/run");
    TriedCommand command;
    command.name = "run";
    command.arguments = {"lumen", "-q", "run", Path("in"), "--out", run, "--device", "cpu"};
    command.in = Path("in");
    command.out = Path("out");
    command.may_refuse = [run] { return fs::exists(run) && !fs::is_empty(run); };
    command.require_whole = [run] {
      RequireWholeRun(run);
      EXPECT_TRUE(fs::exists(fs::path(run) / run_file::kSurface));
    };
    command.require_readable = [run] { RequireReadableByAll(run); };
    return command;
  }
  // What has become of the surface is said as a warning: a run without one is still a run.
  static TriedCommand RunMaybeWithoutSurface() {
    TriedCommand command = Run();
    command.require_whole = [run = Path("out/run")] { RequireWholeRun(run); };
    return command;
  }
  // By the library, and by programs that are given such a folder.
  static void RequireReadableByAll(const std::string& run) {
    RequireReadableRun(run);
    if (!fs::exists(run)) return;
    const std::vector<std::vector<std::string>> readers = {
        {"lumen", "-q", "eval", run, "--truth", Path("in")},
        {"lumen", "-q", "fuse", run, "--out", Path("fused.ply")}};
    for (const std::vector<std::string>& reader : readers) {
      if (reader[2] == "fuse" && !TestsAllFaults()) continue;
      const Ending ending = Start(reader, folder_->Path());
      EXPECT_TRUE(ending.code == 0 || ending.code == kBadInput) << reader[2] << ": " << ending.err;
    }
  }

  static TemporaryFolder* folder_;
};

TemporaryFolder* RunFaults::folder_ = nullptr;

// What the run has noted down about itself when it is killed.
class Diary {
 public:
  explicit Diary(const fs::path& path) {
    WriteFileAtomically(path, std::string(sizeof(RunDiary), '\0'), Flush::kLater);
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    map_ = ::mmap(nullptr, sizeof(RunDiary), PROT_READ, MAP_SHARED, file, 0);
    ::close(file);
  }
  ~Diary() { ::munmap(map_, sizeof(RunDiary)); }
  Diary(const Diary&) = delete;
  Diary& operator=(const Diary&) = delete;
  const RunDiary* operator->() const { return static_cast<const RunDiary*>(map_); }

 private:
  void* map_;
};

class RunFaultsKilled : public RunFaults {};
class RunFaultsLost : public RunFaults {};
class RunFaultsDisk : public RunFaults {};
class RunFaultsInput : public RunFaults {};
class RunFaultsMemory : public RunFaults {};

TEST_F(RunFaultsKilled, AtAnyMomentItsFolderCanBeRead) { Trial(Run()).Kills(Moments(5, 50), Moments(5, 50)); }

// A machine that lets a thread wait must be forgiven as much, a few times over.
TEST_F(RunFaultsLost, AtMostASecondOfFrames) {
  constexpr double kPromised = 1, kForgiven = 5;
  const Ending made = Start({"lumen", "-q", "simulate", Path("long"), "--anatomy", "colon", "--seed", "7",
                             "--frames", "60", "--size", "64x48", "--fps", "15", "--no-model"},
                            folder_->Path());
  ASSERT_EQ(made.code, 0) << made.err;
  const int kills = Moments(1, 16);
  for (int k = 0; k < kills; ++k) {
    fs::remove_all(Path("lost"));
    const Diary diary(Path("diary"));
    Start({"lumen_watched_run", Path("long"), Path("lost"), Path("diary")}, folder_->Path(), {},
          {SIGKILL, 1.2 + 3.0 * k / kills});
    const int64_t killed = std::chrono::steady_clock::now().time_since_epoch().count();
    if (diary->frames == 0) continue;
    std::set<int64_t> kept;
    for (const RunFrameEvent& event : ReadRunFolder(Path("lost")).events) kept.insert(event.frame);
    double lost = 0;  // seconds since the oldest frame that is not there
    for (int i = 0; i < diary->frames; ++i)
      if (!kept.contains(diary->number[i]))
        lost = std::max(lost, 1e-9 * static_cast<double>(killed - diary->at[i]));
    EXPECT_LE(lost, kPromised + kForgiven * 1e-9 * static_cast<double>(diary->longest_pause))
        << kept.size() << " of " << diary->frames << " frames are there";
    std::cout << "[ MEASURED ] " << diary->frames - static_cast<int>(kept.size()) << " of " << diary->frames
              << " frames lost, " << lost << " s\n";
  }
}

TEST_F(RunFaultsKilled, InterruptedItIsCompletedAndSaysSo) { Trial(Run()).Interrupts(Moments(1, 16)); }

TEST_F(RunFaultsDisk, OnceFullItEndsWithOneLineAndWhatIsThereIsWhole) {
  Trial trial(Run());
  const fs::path out = Path("out");
  trial.Faults({"write", "ENOSPC", 0, true, out}, Moments(2, 60), {kBadOutput});
  trial.Faults({"write,mkdir,create", "ENOSPC", 0, true, out}, Moments(0, 12), {kBadOutput});
}

TEST_F(RunFaultsDisk, WhatCannotBeWrittenIsNamed) {
  Trial trial(Run());
  const fs::path out = Path("out");
  for (const char* error : {"EIO", "ENOSPC"})
    trial.Faults({"write", error, 0, false, out}, Moments(0, 16), {kBadOutput});
  trial.Faults({"rename", "EIO", 0, false, out}, Moments(1, 16), {kBadOutput});
  trial.Faults({"sync", "EIO", 0, false, out}, Moments(1, 18), {kBadOutput});
  trial.Faults({"mkdir", "EACCES", 0, false, out}, Moments(0, 4), {kBadOutput});
}

TEST_F(RunFaultsDisk, AShortWriteIsGoneOnWith) {
  Trial(Run()).Faults({"write", "short", 0, false, Path("out")}, Moments(0, 10), {});
}

TEST_F(RunFaultsDisk, ItsOwnFolderThatCannotBeOpenedOrClosedIsNamed) {
  Trial trial(RunMaybeWithoutSurface());
  const fs::path out = Path("out");
  for (const char* error : {"EMFILE", "EACCES", "EIO"})
    trial.Faults({"open", error, 0, false, out}, Moments(0, 12), {kBadOutput});
  trial.Faults({"close", "EIO", 0, false, out}, Moments(0, 12), {kBadOutput});
  trial.Faults({"read", "EIO", 0, false, out}, Moments(1, 10), {});
}

TEST_F(RunFaultsInput, WhatCannotBeReadIsNamedOrPassedOver) {
  Trial trial(RunMaybeWithoutSurface());
  const fs::path in = Path("in");
  for (const char* error : {"EMFILE", "EACCES", "EIO"})
    trial.Faults({"open", error, 0, false, in}, Moments(0, 8), {kBadInput});
  trial.Faults({"read", "EIO", 0, false, in}, Moments(1, 16), {kBadInput});
}

TEST_F(RunFaultsInput, NorItsModel) {
  Trial trial(RunMaybeWithoutSurface());
  // Of everything: the model, the vocabulary, the folder that the pictures lie in.
  trial.Faults({"open", "EIO", 0, false, {}}, Moments(0, 20), {kBadInput, kBadOutput});
  trial.Faults({"read", "EIO", 0, false, {}}, Moments(0, 20), {kBadInput, kBadOutput});
  trial.Faults({"map", "EIO", 0, false, {}}, Moments(0, 8), {kBadInput, kBadOutput, kNoMemory});
}

// A library that dies of it in its own process has left a file unwritten.
TEST_F(RunFaultsMemory, AnAllocationThatFailsIsOneLine) {
  Trial trial(RunMaybeWithoutSurface());
  trial.Faults({"memory", "ENOMEM", 0, false, {}}, Moments(2, 60), {kNoMemory, kBadOutput});
  trial.Faults({"memory", "ENOMEM", 0, false, {}, 4096}, Moments(0, 30), {kNoMemory, kBadOutput});
}

TEST_F(RunFaultsMemory, NorDoesItGoOnWithoutLargeBlocks) {
  Trial trial(RunMaybeWithoutSurface());
  trial.Faults({"memory", "ENOMEM", 0, true, {}, 65536}, Moments(0, 30), {kNoMemory, kBadOutput});
}

}  // namespace
}  // namespace lumen
