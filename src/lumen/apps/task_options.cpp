#include "lumen/apps/task_options.h"

#include "lumen/apps/app.h"
#include "lumen/apps/interrupt.h"
#include "lumen/base/error.h"

namespace lumen {

namespace fs = std::filesystem;

void AddTaskOptions(Command& command, TaskOptions& options, const std::string& what) {
  command.Add("--on", options.on, "where: here, or slurm (a cluster that shares this disk)")
      .OneOf({"here", "slurm"})
      .ShowDefault();
  command
      .Add("--jobs", options.jobs,
           what + " at a time; 0: one a core, or with --on slurm as many as the cluster gives")
      .Within(0, 10000);
  command.Add("--partition", options.slurm.partition, "with --on slurm: the cluster's partition");
  command.Add("--time", options.slurm.time, "with --on slurm: the longest each may take, e.g. 2:00:00");
  command.Add("--gpus", options.slurm.gpus, "with --on slurm: GPUs of each").Within(0, 64);
  command.Add("--cpus", options.slurm.cpus, "with --on slurm: cores of each").Within(0, 4096);
  command.Add("--sbatch", options.slurm.further,
              "with --on slurm: further options of sbatch, e.g. \"--mem=8G --account=surgery\"");
}

std::unique_ptr<TaskEngine> MakeTaskEngine(const TaskOptions& options, const fs::path& out) {
  if (options.on != "slurm") {
    const SlurmOptions& slurm = options.slurm;
    if (!slurm.partition.empty() || !slurm.time.empty() || slurm.gpus > 0 || slurm.cpus > 0 ||
        !slurm.further.empty())
      throw InputError("--partition, --time, --gpus, --cpus and --sbatch are for --on slurm");
    return MakeLocalEngine(options.jobs, IsInterrupted);
  }
  SlurmOptions slurm = options.slurm;
  slurm.jobs = options.jobs;
  slurm.folder = fs::absolute(out / ".slurm").lexically_normal();
  slurm.version = VersionLine();
  return MakeSlurmEngine(std::move(slurm), IsInterrupted);
}

}  // namespace lumen
