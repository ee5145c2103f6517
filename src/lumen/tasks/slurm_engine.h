// Tasks as job arrays of a Slurm cluster, whose nodes see the tasks' folders under the same paths.
#pragma once

#include "lumen/tasks/task_engine.h"

namespace lumen {

struct SlurmOptions {
  std::filesystem::path folder;  // for lists of tasks and what nodes say, on the shared disk: OUT/.slurm
  std::string version;           // what the program answers to --version, on every node
  std::filesystem::path program = OwnProgram();
  std::string partition;  // empty: the cluster's own choice, here and below
  std::string time;       // of a task, as sbatch takes it
  int gpus = 0;           // of a task
  int cpus = 0;
  int jobs = 0;         // tasks at a time; 0: as many as the cluster gives
  std::string further;  // options of sbatch, as a shell would read them
};

// Submits what is neither done nor queued by an earlier call, waits for all, and tries again what a node's
// failure ended. When interrupted, the jobs go on; the same call takes them up. Throws InputError if there is
// no Slurm, or it takes nothing of this.
std::unique_ptr<TaskEngine> MakeSlurmEngine(SlurmOptions options, ShouldStop stop);

}  // namespace lumen
