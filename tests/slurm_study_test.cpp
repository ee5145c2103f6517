// Studies on a cluster that a script stands in for (tests/slurm_stand_in): whatever happens there, the table
// is the one that is made here.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include "lumen/base/file.h"
#include "lumen/base/text.h"
#include "lumen/network/weights.h"
#include "tests/command.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;

class SlurmStudy : public ::testing::Test {
 protected:
  SlurmStudy() {
    for (const char* name : {"sbatch", "squeue", "sacct", "scontrol"}) {
      fs::create_directories(stand_in_.Path() / "bin");
      fs::create_symlink(fs::path(LUMEN_SOURCE_DIR) / "tests/slurm_stand_in",
                         stand_in_.Path() / "bin" / name);
    }
    ::setenv("STAND_IN", stand_in_.Path().c_str(), 1);
  }

  std::string Path(const std::string& name) const { return (folder_.Path() / name).string(); }
  fs::path Knob(const std::string& name) const { return stand_in_.Path() / name; }
  void Set(const std::string& knob, const std::string& text = "") const { std::ofstream(Knob(knob)) << text; }
  int Submissions() const {
    const fs::path file = Knob("submissions");
    return fs::exists(file) ? static_cast<int>(Split(ReadFile(file), '\n').size()) - 1 : 0;
  }
  int Ended(const std::string& state) const {
    int count = 0;
    for (const auto& job : fs::directory_iterator(Knob("jobs")))
      count += fs::exists(job.path() / "state") && Trim(ReadFile(job.path() / "state")) == state ? 1 : 0;
    return count;
  }

  // For a shell; the program's process is the shell's own.
  std::string Line(const std::string& options) const {
    return StrCat("PATH=", Knob("bin").string(), ":$PATH; exec lumen study suite ", options);
  }
  // Three tiny sequences, and networks that see nothing but run.
  std::string Tiny() const {
    SaveModel(Path("m.safetensors"), MakeRandomModel(1));
    return StrCat("--subjects nasal-1,colon-5,stomach-11 --frames 3 --size 64x48 --data ", Path("data"),
                  " --model ", Path("m.safetensors"), " ");
  }
  // Cells that end before they look at their sequences.
  std::string Broken(const std::string& names) const {
    std::string line;
    for (const std::string& name : Split(names, ',')) {
      fs::create_directories(Path(name));
      line += Path(name) + " ";
    }
    return line + "--run-arg=--no-such-option --on slurm --out " + Path("out") + " ";
  }
  CommandResult OnSlurm(const std::string& options) const { return RunCommand("(" + Line(options) + ")"); }

  // In the background; what it says goes to "said".
  pid_t Begin(const std::string& options) const {
    fs::remove(Path("said"));
    RunCommand(StrCat("(", Line(options), ") > ", Path("table"), " 2> ", Path("said"), " & echo $! > ",
                      Path("pid")));
    return static_cast<pid_t>(ParseInteger(Trim(ReadFile(Path("pid")))).value());
  }
  std::string Said() const { return fs::exists(Path("said")) ? ReadFile(Path("said")) : ""; }
  void AwaitSaying(const std::string& text) const {
    for (int i = 0; i < 600 && Said().find(text) == std::string::npos; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ASSERT_NE(Said().find(text), std::string::npos) << Said();
  }
  // Nobody may have asked how it ended.
  static bool IsAlive(pid_t process) {
    const fs::path file = StrCat("/proc/", process, "/stat");
    std::ifstream stream(file);
    std::string line;
    return std::getline(stream, line) && line.find(") Z ") == std::string::npos;
  }
  static void AwaitEnd(pid_t process) {
    for (int i = 0; i < 600 && IsAlive(process); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ASSERT_FALSE(IsAlive(process));
  }
  static void ExpectText(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }

  TemporaryFolder stand_in_, folder_;
};

TEST_F(SlurmStudy, WhatWasLostIsDoneAgainAndTheTableIsTheSameAsHere) {
  Set("faults", "kill\nNODE_FAIL\n");
  const CommandResult there = OnSlurm(Tiny() + "--on slurm --out " + Path("there"));
  ASSERT_EQ(there.code, 0) << there.err;
  ExpectText(there.err, "(was ended by SIGKILL), attempt 2 of 3 follows");
  ExpectText(there.err, "(NODE_FAIL), attempt 2 of 3 follows");
  EXPECT_EQ(Ended("COMPLETED"), 3);  // each exactly once
  const CommandResult here = RunCommand("lumen study suite " + Tiny() + "--jobs 2 --out " + Path("here"));
  EXPECT_EQ(there.out, here.out);
  for (const char* name : {"study.md", "study.csv", "study.html"})
    EXPECT_EQ(ReadFile(Path("there") + "/" + name), ReadFile(Path("here") + "/" + name)) << name;
  for (const fs::path& file : ListFiles(Path("there") + "/.slurm")) EXPECT_EQ(file.filename(), "watch");
  // Cells of the one are cells of the other.
  const CommandResult again = RunCommand("lumen study suite " + Tiny() + "--jobs 2 --out " + Path("there"));
  EXPECT_EQ(again.out, there.out);
  ExpectText(again.err, "3 of 3 cells are finished already");
}

TEST_F(SlurmStudy, LeftAndKilledItIsTakenUpAgainByTheSameCommand) {
  const std::string line = Tiny() + "--on slurm --out " + Path("there");
  Set("hold");
  const pid_t first = Begin(line);
  AwaitSaying("submitted 3 tasks as job 1");
  ::kill(first, SIGINT);
  AwaitEnd(first);
  ExpectText(Said(),
             "3 tasks go on without us (job 1): the same command takes them up, `scancel 1` ends them");
  const pid_t second = Begin(line);
  AwaitSaying("job 1 of an earlier call goes on: 3 tasks");
  ExpectText(OnSlurm(line).err, "another lumen is at work there");
  ::kill(second, SIGKILL);
  AwaitEnd(second);
  fs::remove(Knob("hold"));
  const CommandResult third = OnSlurm(line);
  ASSERT_EQ(third.code, 0) << third.err;
  ExpectText(third.out, "| lumen |");
  EXPECT_EQ(Submissions(), 1);
  EXPECT_EQ(Ended("COMPLETED"), 3);
}

TEST_F(SlurmStudy, OtherSettingsDoNotMeetTasksThatAreStillQueued) {
  Set("hold");
  const pid_t first = Begin(Broken("one"));
  AwaitSaying("submitted 1 task as job 1");
  ::kill(first, SIGKILL);
  AwaitEnd(first);
  const CommandResult other = OnSlurm(Broken("one") + "--set loop.local=false");
  EXPECT_EQ(other.code, 2);
  ExpectText(other.err, "job 1_0 is at work there with other settings or another version");
}

TEST_F(SlurmStudy, WhatEndsACellIsItsOwnAndTheRestGoesOn) {
  Set("faults", "-\nTIMEOUT\nOUT_OF_MEMORY\nother_disk\nother_version\nno_program\n");
  const CommandResult result = OnSlurm(Broken("a,b,c,d,e,f"));
  EXPECT_EQ(result.code, 2);
  ExpectText(result.err, "6 of 6 cells failed");
  const std::string table = ReadFile(Path("out") + "/study.md");
  ExpectText(table, "ended with code 2: lumen: lumen run has no option --no-such-option");
  ExpectText(table, "failed: took longer than it may: ask for more with --time");
  ExpectText(table, "failed: ran out of memory: ask for more, e.g. with --sbatch");
  ExpectText(table, "does not see the same files as this machine in " + Path("out"));
  ExpectText(table, "has another version of lumen: lumen 0.0.9 (old)");
  ExpectText(table, "cannot start lumen: install it on a disk that all nodes share");
  ExpectText(table, "node n0 ");
  EXPECT_EQ(Submissions(), 1);  // none of it is tried again
  EXPECT_FALSE(fs::exists(Knob("elsewhere")));
}

TEST_F(SlurmStudy, WhatIsLostAgainAndAgainIsGivenUp) {
  Set("faults", "NODE_FAIL\nNODE_FAIL\nNODE_FAIL\n");
  const CommandResult result = OnSlurm(Broken("one"));
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(Submissions(), 3);
  ExpectText(ReadFile(Path("out") + "/study.md"), "lost 3 times, at last on node n0: NODE_FAIL");
}

TEST_F(SlurmStudy, AControllerThatIsAwayIsWaitedFor) {
  Set("down");
  const pid_t study = Begin(Broken("one"));
  AwaitSaying("Unable to contact slurm controller (connect failure); asking again");
  fs::remove(Knob("down"));
  Set("lost");  // the job is taken, and nobody hears of it
  AwaitEnd(study);
  ExpectText(Said(), "Socket timed out");
  ExpectText(Said(), "1 of 1 cells failed");
  ExpectText(ReadFile(Path("out") + "/study.md"), "no option --no-such-option");
  EXPECT_EQ(Submissions(), 1);
}

TEST_F(SlurmStudy, WhereSoManyAreTooManyFewerAreSubmitted) {
  Set("limit", "1");
  const CommandResult result = OnSlurm(Broken("a,b"));
  ExpectText(result.err, "Job violates accounting/QOS policy");
  ExpectText(ReadFile(Path("out") + "/study.md"), "b, lumen: failed: ended with code 2");
  EXPECT_EQ(Ended("FAILED"), 2);
}

TEST_F(SlurmStudy, OptionsReachTheSubmission) {
  OnSlurm(Broken("one") +
          "--jobs 7 --partition gpu --time 2:00:00 --gpus 1 --cpus 4 --sbatch \"--mem=8G --comment='two "
          "words'\"");
  const std::string line = ReadFile(Knob("submissions"));
  for (const char* option : {"--array=0-0%7 ", " --partition=gpu ", " --time=2:00:00 ", " --gres=gpu:1 ",
                             " --cpus-per-task=4 ", " --mem=8G ", " --comment=two words "})
    ExpectText(line, option);
}

TEST_F(SlurmStudy, FaultsOfTheRequestAreOneLineBeforeAnythingBegins) {
  const std::string out = " --out " + Path("none");
  const auto expect = [&](const CommandResult& result, const std::string& text) {
    EXPECT_EQ(result.code, 2) << result.err;
    ExpectText(result.err, text);
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  };
  expect(RunCommand("PATH=" + std::string(LUMEN_BINARY_DIR) + "; lumen study suite --on slurm" + out),
         "there is no Slurm here: sbatch is not on the PATH");
  expect(OnSlurm("--on slurm --sbatch \"--comment='never closed\"" + out),
         "a quote or a bracket is not closed");
  expect(OnSlurm("--partition gpu" + out), "are for --on slurm");
  EXPECT_FALSE(fs::exists(Path("none")));
  expect(OnSlurm(Broken("one") + "--partition nowhere"), "invalid partition specified: nowhere");
}

}  // namespace
}  // namespace lumen
