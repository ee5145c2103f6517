// Training killed between and during its checkpoints, stopped, and on a disk that fails: what it had saved it
// goes on from.
#include <gtest/gtest.h>

#include <csignal>

#include "lumen/base/text.h"
#include "tests/faults/harness.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;

class TrainFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!TestsAllFaults()) GTEST_SKIP() << "seconds each: with LUMEN_FAULTS=full";
  }
  std::string Path(const std::string& name) const { return (folder_.Path() / name).string(); }

  // Three steps of networks a few channels wide, with a checkpoint after every one.
  TriedCommand Training() const {
    TriedCommand command;
    command.name = "lumen-train";
    command.arguments = {"lumen-train",
                         StrCat("out=", Path("out/run")),
                         "steps=3",
                         "device=cpu",
                         "tiny=true",
                         "first_scenes=1",
                         "ring=2",
                         "validation_scenes=0",
                         "sim.width=64",
                         "sim.height=64",
                         "sim.clips_per_scene=1",
                         "sim.places=1",
                         "sim.views=3",
                         "batch=1",
                         "joint_batch=1",
                         "first_stage=1",
                         "losses.keypoints=64",
                         "save_minutes=1e-6"};
    // Without a checkpoint there is nothing to go on from, and nothing in the way.
    command.again = [begun = command.arguments, saved = Path("out/run/checkpoint.json")] {
      std::vector<std::string> arguments = begun;
      if (fs::exists(saved)) arguments.emplace_back("resume=true");
      return arguments;
    };
    command.require_whole = [out = fs::path(Path("out"))] {
      RequireReadableFiles(out);
      EXPECT_TRUE(fs::exists(out / "run/model.safetensors"));
      EXPECT_TRUE(fs::exists(out / "run/checkpoint.json"));
    };
    command.in = Path("in");
    command.out = Path("out");
    command.one_line = false;
    return command;
  }

  TemporaryFolder folder_;
};

TEST_F(TrainFaults, KilledItGoesOnFromItsLastCheckpoint) { Trial(Training()).Kills(4, 8); }

TEST_F(TrainFaults, StoppedItSavesAndGoesOn) { Trial(Training()).Interrupts(4); }

TEST_F(TrainFaults, ADiskThatFailsIsNamedAndTheOldCheckpointStays) {
  Trial trial(Training());
  const fs::path out = Path("out");
  trial.Faults({"write", "ENOSPC", 0, true, out}, 5, {kBadOutput});
  trial.Faults({"rename", "EIO", 0, false, out}, 4, {kBadOutput});
  trial.Faults({"memory", "ENOMEM", 0, true, {}, 1 << 20}, 4, {kNoMemory, kBadOutput});
}

}  // namespace
}  // namespace lumen
