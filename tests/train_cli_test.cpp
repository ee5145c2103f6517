// `lumen train` from the outside: what it says and leaves behind when it cannot do what was asked.
#include <gtest/gtest.h>

#include <algorithm>

#include "lumen/base/text.h"
#include "tests/command.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;

class TrainCli : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return (folder_.Path() / name).string(); }
  std::string Out() const { return StrCat(" --out ", Path("run"), " "); }

  // One line on stderr with this text, nothing made.
  void ExpectFault(const std::string& arguments, const std::string& text) const {
    const CommandResult result = RunCommand("lumen train " + arguments);
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_TRUE(result.out.empty());
    EXPECT_FALSE(fs::exists(Path("run/checkpoint.json")));
  }

  TemporaryFolder folder_;
};

// Two steps of networks a few channels wide.
const std::string kTiny =
    " --steps 2 --device cpu --set tiny=true --set first_scenes=1 --set ring=2 --set validation_scenes=0"
    " --set sim.width=64 --set sim.height=64 --set sim.clips_per_scene=1 --set sim.places=1"
    " --set sim.views=3 --set batch=1 --set joint_batch=1 --set first_stage=1 --set losses.keypoints=64 ";

TEST_F(TrainCli, SaysWhatIsWrongWithTheSettings) {
  ExpectFault("--steps 1", "--out is required");
  ExpectFault(Out(), "say how long");
  ExpectFault(Out() + "--minutes -1", "--minutes");
  ExpectFault(Out() + "--steps 1 --set nosuch=1", "unknown parameter \"nosuch\"");
  ExpectFault(Out() + "--steps 1 --set batch=0", "batch = 0 is out of range");
  ExpectFault(Out() + "--steps 1 --set losses.depth_weight=much", "losses.depth_weight");
  ExpectFault(Out() + "--steps 1 --init " + Path("nothing.safetensors"), "no such file");
  ExpectFault(Out() + "--steps 1 --resume", "no checkpoint to resume from");
}

TEST_F(TrainCli, SaysWhatIsWrongWithTheData) {
  ExpectFault(Out() + "--steps 1 --data " + Path("nowhere"), "no such file or folder");
  fs::create_directories(Path("empty"));
  ExpectFault(Out() + "--steps 1 --data " + Path("empty"), "holds no images");
  ASSERT_EQ(RunCommand(StrCat("lumen -q simulate ", Path("short"),
                              " --anatomy colon --frames 3 --size 64x48 --no-model"))
                .code,
            0);
  ExpectFault(Out() + "--steps 1 --data " + Path("short"), "only 3 frames with truth");
  fs::remove_all(Path("short/depth"));
  ExpectFault(Out() + "--steps 1 --data " + Path("short"), "frame 0 has no true depth");
  fs::remove(Path("short/groundtruth.tum"));
  ExpectFault(Out() + "--steps 1 --data " + Path("short"), "no true poses");
}

TEST_F(TrainCli, ACheckpointSurvivesWhateverGoesWrong) {
  ASSERT_EQ(RunCommand("lumen train" + Out() + kTiny + "--set call_steps=1").code, 0);
  const std::string before = ReadFile(Path("run/checkpoint.json"));
  const CommandResult again = RunCommand("lumen train" + Out() + kTiny);
  EXPECT_EQ(again.code, 2);
  EXPECT_NE(again.err.find("holds a checkpoint already"), std::string::npos) << again.err;
  const CommandResult other = RunCommand("lumen train" + Out() + "--steps 2 --device cpu --resume");
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("a checkpoint of another architecture"), std::string::npos) << other.err;
  const CommandResult full = RunCommand(FullDisk(64) + "lumen train --resume" + Out() + kTiny);
  EXPECT_EQ(full.code, 3);
  EXPECT_NE(full.err.find("cannot write"), std::string::npos) << full.err;
  EXPECT_EQ(ReadFile(Path("run/checkpoint.json")), before);
  const CommandResult resumed = RunCommand("lumen train --resume" + Out() + kTiny);
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_NE(resumed.out.find("\"finished\": true"), std::string::npos) << resumed.out;
}

}  // namespace
}  // namespace lumen
