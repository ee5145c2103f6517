// Tasks that are shell scripts: what is done, what failed and why, what is left.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "lumen/base/file.h"
#include "lumen/tasks/task_engine.h"

namespace lumen {
namespace {

namespace fs = std::filesystem;
using State = TaskOutcome::State;

class LocalEngineTest : public ::testing::Test {
 protected:
  // `$1` is its record.
  Task Script(const std::string& name, const std::string& script) const {
    const fs::path folder = folder_.Path() / name;
    return {name, folder, {"-c", script, "sh", (folder / "done").string()}, folder / "done"};
  }
  std::vector<TaskOutcome> Run(const std::vector<Task>& tasks) {
    return MakeLocalEngine(
               2, [this] { return stopped_.load(); }, "/bin/sh")
        ->Run(tasks, [this](size_t index, const TaskOutcome&) { told_.push_back(index); });
  }

  TemporaryFolder folder_;
  std::atomic<bool> stopped_ = false;
  std::vector<size_t> told_;
};

TEST_F(LocalEngineTest, ATaskIsDoneWhenItsRecordIsThere) {
  const Task task = Script("one", "echo once; touch $1");
  const TaskOutcome first = Run({task}).front();
  EXPECT_EQ(first.state, State::kDone);
  EXPECT_EQ(first.attempts, 1);
  EXPECT_EQ(ReadFile(TaskLog(task)), "once\n");
  fs::remove(TaskLog(task));
  EXPECT_EQ(Run({task}).front().attempts, 0);
  EXPECT_FALSE(fs::exists(TaskLog(task)));
  EXPECT_EQ(told_, (std::vector<size_t>{0, 0}));
}

TEST_F(LocalEngineTest, AFailureIsItsCodeAndTheLastThatWasSaid) {
  const auto outcomes =
      Run({Script("code", "echo so it goes; echo; exit 3"), Script("signal", "kill -SEGV $$"),
           Script("silent", "exit 0"), Script("good", "touch $1")});
  EXPECT_EQ(outcomes[0].state, State::kFailed);
  EXPECT_EQ(outcomes[0].reason,
            "ended with code 3: so it goes (" + (folder_.Path() / "code" / "log.txt").string() + ")");
  EXPECT_NE(outcomes[1].reason.find("was ended by SIGSEGV ("), std::string::npos) << outcomes[1].reason;
  EXPECT_NE(outcomes[2].reason.find("left no"), std::string::npos) << outcomes[2].reason;
  EXPECT_EQ(outcomes[3].state, State::kDone);
  EXPECT_EQ(told_.size(), 4U);
}

TEST_F(LocalEngineTest, WhatIsInterruptedIsLeft) {
  std::vector<Task> tasks;
  for (const char* name : {"a", "b", "c", "d"}) tasks.push_back(Script(name, "touch $1.begun; sleep 60"));
  std::vector<TaskOutcome> outcomes;
  std::thread running([&] { outcomes = Run(tasks); });
  while (!fs::exists(folder_.Path() / "a" / "done.begun")) std::this_thread::yield();
  stopped_ = true;
  running.join();
  for (const TaskOutcome& outcome : outcomes) EXPECT_EQ(outcome.state, State::kLeft);
  EXPECT_TRUE(told_.empty());
}

// An attempt that was given up may still be writing.
TEST_F(LocalEngineTest, TheLogOfAnotherAttemptIsNotWrittenInto) {
  const Task task = Script("one", "echo new; touch $1");
  fs::create_directories(task.folder);
  std::ofstream old(TaskLog(task));
  old << "old\n" << std::flush;
  Run({task});
  old << "and on\n" << std::flush;
  EXPECT_EQ(ReadFile(TaskLog(task)), "new\n");
}

TEST_F(LocalEngineTest, APlaceThatCannotBeWrittenIsAFailureOfItsTaskAlone) {
  std::ofstream(folder_.Path() / "file") << "no folder";
  Task bad = Script("bad", "touch $1");
  bad.folder = folder_.Path() / "file" / "bad";
  const auto outcomes = Run({bad, Script("good", "touch $1")});
  EXPECT_EQ(outcomes[0].state, State::kFailed);
  EXPECT_NE(outcomes[0].reason.find("file"), std::string::npos);
  EXPECT_EQ(outcomes[1].state, State::kDone);
}

}  // namespace
}  // namespace lumen
