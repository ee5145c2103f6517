// `lumen train` from the outside: what it says and leaves behind when it cannot do what was asked.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lumen/base/safetensors.h"
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

  void ExpectFaultElsewhere(const std::string& arguments, const std::string& text) const {
    const CommandResult result = RunCommand(StrCat("lumen train --out ", Path("other"), " ", arguments));
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
  }

  TemporaryFolder folder_;
};

// Two steps of networks a few channels wide.
const std::string kTiny =
    " --steps 2 --device cpu --set tiny=true --set first_scenes=1 --set ring=2 --set validation_scenes=0"
    " --set sim.width=64 --set sim.height=64 --set sim.clips_per_scene=1 --set sim.places=1"
    " --no-vocabulary --set sim.views=3 --set batch=1 --set joint_batch=1 --set first_stage=1 --set "
    "losses.keypoints=64 ";

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
  ExpectFault(Out() + "--steps 1 --data " + Path("short"), "only 3 frames with pose and depth");
  fs::remove_all(Path("short/depth"));
  ExpectFault(Out() + "--steps 1 --data " + Path("short"), "3 no depth");
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

// A simulated video whose poses have a hole, whose frames begin with number 1, and whose depth is known at
// single places in its second half.
TEST_F(TrainCli, LearnsFromARecordingWithHolesBesideTheSimulator) {
  ASSERT_EQ(RunCommand(StrCat("lumen -q simulate ", Path("seq"),
                              " --anatomy colon --seed 957 --frames 24 --size 64x64 --no-model"))
                .code,
            0);
  std::string poses, points = "frame,u,v,depth\n";
  int line = 0;
  for (const std::string& pose : Split(ReadFile(Path("seq/groundtruth.tum")), '\n')) {
    if (pose.empty() || pose[0] == '#') continue;
    const bool hole = line >= 8 && line < 12;
    const size_t blank = pose.find(' ');
    if (!hole)
      poses += FormatDouble(*ParseDouble(pose.substr(0, blank)) + 1 / 30.0) + pose.substr(blank) + "\n";
    ++line;
  }
  WriteFileAtomically(Path("seq/groundtruth.tum"), poses);
  for (int k = 23; k >= 0; --k) {
    const auto name = [&](const char* folder, int number) {
      return Path(StrCat("seq/", folder, "/", number < 10 ? "00000" : "0000", number, ".png"));
    };
    fs::rename(name("rgb", k), name("rgb", k + 1));
    if (k < 12)
      fs::rename(name("depth", k), name("depth", k + 1));
    else
      fs::remove(name("depth", k));
    for (int i = 0; k >= 12 && i < 49; ++i)
      points += StrCat(k + 1, ",", 8 + 8 * (i % 7), ",", 8 + 8 * (i / 7), ",", 20 + i, "\n");
  }
  WriteFileAtomically(Path("seq/sparse_depth.csv"), points);
  const CommandResult result =
      RunCommand(StrCat("lumen train", Out(), kTiny, "--data ", Path("seq"), " --sim-share 0.5"));
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("20 frames to learn from, 4 without a pose, 0 without depth"), std::string::npos)
      << result.err;
  EXPECT_TRUE(fs::exists(Path("run/model.safetensors")));
  ExpectFaultElsewhere("--steps 1 --sim-share 0.5", "go with data");
}

// All numbers of a CSV but those of the clock.
std::vector<double> Losses(const fs::path& csv) {
  std::vector<double> numbers;
  for (const std::string& line : Split(ReadFile(csv), '\n')) {
    const std::vector<std::string> cells = Split(line, ',');
    for (size_t i = 2; i < cells.size(); ++i) numbers.push_back(ParseDouble(cells[i]).value_or(-1));
  }
  return numbers;
}

void ExpectNear(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  ASSERT_FALSE(a.empty());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5 * std::max(1.0, std::abs(a[i]))) << i;
}

std::vector<double> Weights(const fs::path& out, int steps) {
  std::vector<double> all;
  const fs::path file = out / StrCat("checkpoint-", steps, "-values.safetensors");
  for (const auto& [name, tensor] : LoadSafetensors(file).tensors)
    all.insert(all.end(), tensor.values.begin(), tensor.values.end());
  return all;
}

// Twelve steps of both stages, with a scene that comes in between.
const std::string kBothStages =
    kTiny +
    " --set steps=12 --set first_stage=0.7 --set log_every=1 --set warm_up=1 --set scenes_per_step=0.1"
    " --set threads=1 --set losses.samples=128 --set losses.histogram_pixels=64 --set "
    "alignment.iterations=2 ";

class TrainRanksCli : public TrainCli {
 protected:
  void SetUp() override {
    if (RunCommand("lumen train --ranks 2" + Out() + "--steps 1 --init " + Path("nothing"))
            .err.find("Gloo") != std::string::npos)
      GTEST_SKIP() << "built without Gloo: training goes on in one process alone";
    fs::remove_all(Path("run"));
  }
};

// One process computes the losses of both halves of each batch and follows the mean of their gradients; two
// do so with a half each; and what two began one ends.
TEST_F(TrainRanksCli, TwoRanksAreOneProcessOfTwiceTheBatch) {
  const std::string train = "OMP_NUM_THREADS=1 lumen train ";
  const CommandResult one = RunCommand(train + "--set shards=2 --out " + Path("one") + kBothStages);
  ASSERT_EQ(one.code, 0) << one.err;
  const std::string parts = "--out " + Path("two") + kBothStages;
  const CommandResult two = RunCommand(train + "--ranks 2 --set call_steps=10 " + parts);
  ASSERT_EQ(two.code, 0) << two.err;
  EXPECT_NE(two.err.find("2 ranks, gradients summed by gloo"), std::string::npos) << two.err;
  EXPECT_EQ(std::count(two.out.begin(), two.out.end(), '\n'), 1) << two.out;  // rank 0 alone reports
  EXPECT_EQ(Losses(Path("two/losses-1.csv")).size(), Losses(Path("one/losses-1.csv")).size());
  const CommandResult rest = RunCommand(train + "--resume " + parts);
  ASSERT_EQ(rest.code, 0) << rest.err;
  for (const char* csv : {"/losses-1.csv", "/losses-2.csv"})
    ExpectNear(Losses(Path("one") + csv), Losses(Path("two") + csv));
  ExpectNear(Weights(Path("one"), 12), Weights(Path("two"), 12));
}

TEST_F(TrainRanksCli, ARankThatIsKilledStopsAllAndNothingIsLost) {
  const CommandResult killed =
      RunCommand("(lumen train --ranks 2" + Out() + kBothStages +
                 " --set steps=100000 & watched=$!; until [ -s " + Path("run/losses-1.csv") +
                 " ]; do kill -0 $watched || exit 9; sleep 0.2; done; "
                 "trainer=$(pgrep -P $watched); kill -9 $(pgrep -P $trainer | head -1); wait $watched)");
  EXPECT_EQ(killed.code, 6) << killed.err;
  EXPECT_NE(killed.err.find("rank 1 was killed (signal 9"), std::string::npos) << killed.err;
  EXPECT_NE(killed.err.find("--resume goes on"), std::string::npos) << killed.err;
  EXPECT_TRUE(fs::exists(Path("run/checkpoint.json")));
}

// As a launcher starts them: each with its place in the environment.
TEST_F(TrainRanksCli, RanksThatDoNotFitTogetherSayWhatDiffers) {
  const auto launch = [&](const std::string& zero, const std::string& one) {
    const std::string common = "MASTER_ADDR=127.0.0.1 MASTER_PORT=$port WORLD_SIZE=2 ";
    return RunCommand(StrCat("port=$((20000 + $$ % 10000)); (", common, "RANK=1 lumen train ", Out(), kTiny,
                             one, " 2>", Path("one.err"), "; echo $? >", Path("one.code"), ") & ", common,
                             "RANK=0 lumen train ", Out(), kTiny, zero, "; code=$?; wait; exit $code"));
  };
  const CommandResult settings = launch("--seed 1", "--seed 2");
  EXPECT_EQ(settings.code, 2);
  EXPECT_EQ(settings.err, "lumen train: rank 1 has another setting than rank 0: seed = 2, not seed = 1\n");
  EXPECT_EQ(ReadFile(Path("one.err")), "");
  EXPECT_EQ(ReadFile(Path("one.code")), "6\n");
  const CommandResult data = launch("", "--data " + Path("nowhere"));
  EXPECT_EQ(data.code, 2) << data.err;
  EXPECT_NE(data.err.find("rank 1 has another setting than rank 0: data = "), std::string::npos) << data.err;
  const CommandResult broken = RunCommand("RANK=1 lumen train" + Out() + kTiny);
  EXPECT_EQ(broken.code, 2);
  EXPECT_EQ(broken.err, "lumen train: one of several ranks, but WORLD_SIZE is not set\n");
}

}  // namespace
}  // namespace lumen
