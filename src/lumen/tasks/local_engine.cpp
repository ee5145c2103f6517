#include <mutex>

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/parallel.h"
#include "lumen/base/timer.h"
#include "lumen/tasks/task_engine.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

TaskOutcome Failed(const std::string& reason) {
  TaskOutcome outcome;
  outcome.state = TaskOutcome::State::kFailed;
  outcome.reason = reason;
  return outcome;
}

class LocalEngine : public TaskEngine {
 public:
  LocalEngine(int jobs, ShouldStop stop, fs::path program)
      : jobs_(jobs > 0 ? jobs : AvailableCores()), stop_(std::move(stop)), program_(std::move(program)) {}

  std::vector<TaskOutcome> Run(const std::vector<Task>& tasks, const OnTask& on_task) override {
    std::vector<TaskOutcome> outcomes(tasks.size());
    std::mutex telling;
    ParallelFor(static_cast<int64_t>(tasks.size()), jobs_, [&](int64_t i) {
      const auto index = static_cast<size_t>(i);
      if (stop_()) return;
      TaskOutcome& outcome = outcomes[index];
      try {
        outcome = RunOne(tasks[index]);
      } catch (const InputError& error) {
        outcome = Failed(error.what());
      } catch (const OutputError& error) {
        outcome = Failed(error.what());
      }
      if (outcome.state == TaskOutcome::State::kLeft) return;
      const std::lock_guard lock(telling);
      on_task(index, outcome);
    });
    return outcomes;
  }

 private:
  TaskOutcome RunOne(const Task& task) const {
    TaskOutcome outcome;
    if (fs::exists(task.record)) {
      outcome.state = TaskOutcome::State::kDone;
      return outcome;
    }
    MakeDirectories(task.folder);
    const fs::path log = TaskLog(task);
    const Stopwatch watch;
    const int code = RunLogged(program_, task.arguments, log, stop_);
    outcome.attempts = 1;
    outcome.seconds = watch.ElapsedMs() / 1000;
    if (fs::exists(task.record)) {
      outcome.state = TaskOutcome::State::kDone;
    } else if (!stop_()) {
      outcome.state = TaskOutcome::State::kFailed;
      outcome.reason = FailureInWords(task, code);
    }
    return outcome;
  }

  int jobs_;
  ShouldStop stop_;
  fs::path program_;
};

}  // namespace

fs::path TaskLog(const Task& task) { return task.folder / "log.txt"; }

std::string FailureInWords(const Task& task, int code) {
  if (code == 0) return StrCat("ended well but left no ", task.record.string());
  const std::string last = LastLine(TaskLog(task));
  return StrCat(CodeInWords(code), last.empty() ? "" : ": ", last, " (", TaskLog(task).string(), ")");
}

std::unique_ptr<TaskEngine> MakeLocalEngine(int jobs, ShouldStop stop, fs::path program) {
  return std::make_unique<LocalEngine>(jobs, std::move(stop), std::move(program));
}

}  // namespace lumen
