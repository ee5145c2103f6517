// Every other command that writes: killed, interrupted, and with disk, input and memory that fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "lumen/base/text.h"
#include "lumen/io/sequence_folder.h"
#include "lumen/io/volume_file.h"
#include "tests/faults/harness.h"
#include "tests/small_run.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;

class CommandFaults : public ::testing::Test {
 protected:
  // A sequence of a few frames with its truth, and a run of it.
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    fs::create_directories(Path("in"));
    WriteSmallRun(Path("in"), {.frames = 12, .with_surface = true});
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string Path(const std::string& name) { return (folder_->Path() / name).string(); }

  static TriedCommand Command(const std::string& name, std::vector<std::string> arguments) {
    TriedCommand command;
    command.name = name;
    command.arguments = std::move(arguments);
    command.in = Path("in");
    command.out = Path("out");
    return command;
  }
  // What writes a sequence's folder refuses one that is finished, and no other.
  static TriedCommand Writer(const std::string& name, std::vector<std::string> arguments) {
    TriedCommand command = Command(name, std::move(arguments));
    command.may_refuse = [] { return IsSequenceFolder(Path("out/seq")); };
    return command;
  }

  // Everything that can happen, a few times each; `besides` are codes that any of it may end with.
  static void TryAll(const TriedCommand& command, const std::set<int>& besides = {}) {
    Trial trial(command);
    const fs::path& in = command.in;
    const fs::path& out = command.out;
    const auto codes = [&](int code) {
      std::set<int> all = besides;
      all.insert(code);
      return all;
    };
    trial.Kills(Moments(0, 6), Moments(1, 8));
    trial.Faults({"write", "ENOSPC", 0, true, out}, Moments(1, 10), codes(kBadOutput));
    if (!TestsAllFaults()) return;
    trial.Faults({"memory", "ENOMEM", 0, false, {}, 1024}, 12, codes(kNoMemory));
    trial.Interrupts(8);
    trial.Faults({"read", "EIO", 0, false, in}, 8, codes(kBadInput));
    trial.Faults({"write,mkdir,create", "ENOSPC", 0, true, out}, 8, codes(kBadOutput));
    trial.Faults({"write", "EIO", 0, false, out}, 6, codes(kBadOutput));
    trial.Faults({"write", "short", 0, false, out}, 4, besides);
    trial.Faults({"rename", "EIO", 0, false, out}, 5, codes(kBadOutput));
    trial.Faults({"sync", "EIO", 0, false, out}, 5, codes(kBadOutput));
    trial.Faults({"mkdir", "EACCES", 0, false, out}, 3, codes(kBadOutput));
    trial.Faults({"open", "EMFILE", 0, false, out}, 5, codes(kBadOutput));
    for (const char* error : {"EMFILE", "EACCES"})
      trial.Faults({"open", error, 0, false, in}, 6, codes(kBadInput));
    trial.Faults({"memory", "ENOMEM", 0, false, {}}, 14, codes(kNoMemory));
    trial.Faults({"memory", "ENOMEM", 0, true, {}, 65536}, 8, codes(kNoMemory));
  }

  static TemporaryFolder* folder_;
};

TemporaryFolder* CommandFaults::folder_ = nullptr;

// Suites of their own, which ctest starts side by side.
class SimulateFaults : public CommandFaults {};
class ConvertFaults : public CommandFaults {};
class FuseFaults : public CommandFaults {};
class EvalFaults : public CommandFaults {};
class CoverageFaults : public CommandFaults {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    WriteSmallRun(Path("in"), {.frames = 48});  // a way, not a step
  }
};
class RegisterFaults : public CommandFaults {};
class ModelFaults : public CommandFaults {};
class PredictFaults : public CommandFaults {};
class ReportFaults : public CommandFaults {};
class StudyFaults : public CommandFaults {};
class ExportFaults : public CommandFaults {};

TEST_F(SimulateFaults, EndAsTheyShould) {
  TryAll(Writer("simulate", {"lumen", "-q", "simulate", Path("out/seq"), "--anatomy", "colon", "--seed", "7",
                             "--frames", "6", "--size", "64x48", "--no-model"}));
}

TEST_F(ConvertFaults, EndAsTheyShould) {
  TryAll(Writer("convert", {"lumen", "-q", "convert", Path("in/sequence"), Path("out/seq")}));
}

TEST_F(ConvertFaults, ADenseRunGoesWithTheProgram) {
  Trial(Writer("convert --dense",
               {"lumen", "-q", "convert", Path("in/sequence"), Path("out/seq"), "--dense", "lumen"}))
      .Interrupts(Moments(1, 12));
}

TEST_F(FuseFaults, EndAsTheyShould) {
  TryAll(Command("fuse", {"lumen", "-q", "fuse", Path("in/run"), "--out", Path("out/surface.ply")}));
}

TEST_F(EvalFaults, EndAsTheyShould) {
  TryAll(Command("eval", {"lumen", "-q", "eval", Path("in/run"), "--truth", Path("in/sequence"), "--json",
                          Path("out/grades.json"), "--pictures", Path("out/pictures"), "--report",
                          Path("out/report.html")}));
}

TEST_F(CoverageFaults, EndAsTheyShould) {
  TryAll(Command("coverage", {"lumen", "-q", "coverage", Path("in/run"), "--out", Path("out/coverage")}));
}

TEST_F(RegisterFaults, EndAsTheyShould) {
  WriteFileAtomically(Path("in/initial.txt"), "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n");
  TriedCommand command =
      Command("register", {"lumen", "-q", "register", Path("in/run/surface.ply"), "--model",
                           Path("in/run/surface.ply"), "--initial", Path("in/initial.txt"), "--out",
                           Path("out/registration"), "--json", Path("out/outcome.json")});
  command.good = {0, 4};
  TryAll(command);
}

TEST_F(ModelFaults, EndAsTheyShould) {
  Volume volume;  // a ball of air in a block of tissue
  volume.size = {40, 40, 40};
  for (int i = 0; i < 40 * 40 * 40; ++i) {
    const Eigen::Vector3d p(i % 40 - 20, i / 40 % 40 - 20, i / 1600 - 20);
    volume.values.push_back(static_cast<float>(-480 - 520 * std::clamp(12 - p.norm(), -1.0, 1.0)));
  }
  SaveVolume(Path("in/ct.nii"), volume);
  TryAll(Command("model", {"lumen", "-q", "model", Path("in/ct.nii"), "--out", Path("out/spaces")}));
}

TEST_F(PredictFaults, EndAsTheyShould) {
  TriedCommand command = Command("predict", {"lumen", "-q", "predict", Path("in/sequence"), "--end", "2",
                                             "--device", "cpu", "--out", Path("out/pictures")});
  command.passes_over = true;
  TryAll(command);
}

TEST_F(ReportFaults, EndAsTheyShould) {
  TryAll(Command(
      "report", {"lumen", "-q", "report", Path("in/run"), "--views", "4", "--out", Path("out/report.html")}));
}

// A cell that fails is told of in the study; what it has finished it keeps.
// A folder that is finished is not written over.
TEST_F(ExportFaults, EndAsTheyShould) {
  TriedCommand command = Command(
      "export", {"lumen", "-q", "export", Path("in/run"), "--to", "nerfstudio", "--out", Path("out/scene")});
  command.may_refuse = [] { return fs::exists(Path("out/scene/transforms.json")); };
  TryAll(command);
}

TEST_F(StudyFaults, AreOfTheirCellAndItGoesOn) {
  TriedCommand command = Command("study", {"lumen", "-q", "study", "suite", Path("in/sequence"), "--out",
                                           Path("out/study"), "--jobs", "1"});
  command.one_line = false;
  // A run whose surface could not be made is still a run, and its cell a cell.
  command.require_whole = [] {
    RequireReadableFiles(Path("out"));
    for (const char* name : {"study.json", "study.html", "cells/lumen/sequence/cell.json"})
      EXPECT_TRUE(fs::exists(fs::path(Path("out/study")) / name)) << name;
  };
  TryAll(command, {kBadInput, kBadOutput, kNoMemory});
}

}  // namespace
}  // namespace lumen
