// Many processes of one program: here, or on a cluster. A task that is done leaves a record, which it writes
// last and atomically; a task whose record is there is not run again, whoever ran it. Where a cluster loses
// sight of a node, two attempts of a task may be alive at once: a task works aside, under a name that nobody
// else has, and brings what it made to its place in the end.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lumen/tasks/child_program.h"

namespace lumen {

struct Task {
  std::string name;              // as shown to people, unlike all others
  std::filesystem::path folder;  // its own, there before it starts; what it says goes to `log.txt` there
  std::vector<std::string> arguments;  // of the program, without its name
  std::filesystem::path record;        // there: the task is done
};

// Where a task's words go.
std::filesystem::path TaskLog(const Task& task);

// Why a task failed that ended with this code, in one line with the last that it said.
std::string FailureInWords(const Task& task, int code);

struct TaskOutcome {
  enum class State {
    kDone,
    kFailed,
    kLeft,  // not run, or still going on elsewhere, when we were interrupted
  };
  State state = State::kLeft;
  std::string reason;  // of a failure, one line
  std::string where;   // the node; empty: here
  int attempts = 0;    // 0: it was done before
  double seconds = 0;
};

// Told of each task as it ends, one at a time.
using OnTask = std::function<void(size_t index, const TaskOutcome& outcome)>;

class TaskEngine {
 public:
  virtual ~TaskEngine() = default;
  // Returns when all have ended, or when it is interrupted. One that fails does not keep the others back.
  // The folders are made where they are not there.
  virtual std::vector<TaskOutcome> Run(const std::vector<Task>& tasks, const OnTask& on_task) = 0;
};

// Children of ours, so many at a time; 0: one a core.
std::unique_ptr<TaskEngine> MakeLocalEngine(int jobs, ShouldStop stop,
                                            std::filesystem::path program = OwnProgram());

}  // namespace lumen
