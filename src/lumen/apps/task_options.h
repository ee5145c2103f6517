// Where many tasks are done: here, or on a cluster. Shared by the commands that have many.
#pragma once

#include "lumen/apps/command.h"
#include "lumen/tasks/slurm_engine.h"

namespace lumen {

struct TaskOptions {
  std::string on = "here";
  int jobs = 0;  // at a time; 0: one a core, or as many as the cluster gives
  SlurmOptions slurm;
};

// --on, --jobs, --partition, --time, --gpus, --cpus, --sbatch. `what` is what there are many of: "runs".
void AddTaskOptions(Command& command, TaskOptions& options, const std::string& what);

// Interrupted as the program is (interrupt.h). `out` is the folder of the whole.
std::unique_ptr<TaskEngine> MakeTaskEngine(const TaskOptions& options, const std::filesystem::path& out);

}  // namespace lumen
