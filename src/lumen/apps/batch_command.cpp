#include <algorithm>
#include <iostream>
#include <set>

#include "lumen/apps/app.h"
#include "lumen/apps/archive_batch.h"
#include "lumen/apps/archive_video.h"
#include "lumen/apps/interrupt.h"
#include "lumen/apps/shared_gpu.h"
#include "lumen/apps/task_options.h"
#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/base/parallel.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

struct BatchChoice {
  fs::path archive, index;
  TaskOptions tasks;
  BatchOptions batch;
  VideoOptions for_all;  // to declare and check its options: videos get them as they were given
};

// Those that videos take, with paths that hold in any folder.
std::vector<GivenOption> GivenForAll(const Command& command) {
  Command video("video", "");
  VideoOptions unused;
  AddVideoOptions(video, unused);
  AddSharedVideoOptions(video, unused);
  std::set<std::string> known;
  for (const OptionFacts& option : video.Facts().options) known.insert(option.names.back());
  std::vector<GivenOption> given;
  for (GivenOption& option : command.AllGiven()) {
    if (!known.contains(option.name)) continue;
    for (std::string& value : option.values) {
      if (option.kind != ValueKind::kPath) continue;
      if (!fs::exists(value)) throw InputError(value, "no such file or folder");
      value = fs::absolute(value).lexically_normal().string();
    }
    given.push_back(std::move(option));
  }
  return given;
}

// Here as many videos at a time as there are cores, and each with its share of them: a run that is alone
// hardly keeps two busy, and several that all reach for every core stand in each other's way. Returns how
// many run here side by side.
int ShareCores(BatchChoice& choice, size_t videos) {
  if (choice.tasks.on == "slurm") {
    choice.batch.cores = choice.tasks.slurm.cpus;
    return 0;
  }
  const int cores = AvailableCores();
  const int jobs = choice.tasks.jobs > 0 ? choice.tasks.jobs : cores;
  const int at_once = std::clamp(static_cast<int>(videos), 1, jobs);
  if (at_once > 1) choice.batch.cores = (cores + at_once - 1) / at_once;
  return at_once;
}

std::unique_ptr<SharedGpu> ShareGpuOf(const BatchChoice& choice, int at_once) {
  RunOptions run = choice.for_all.run;
  run.config = ResolveConfig(choice.for_all.config);
  return ShareGpu(run, choice.for_all.model, at_once);
}

void RebuildIndex(const fs::path& out) {
  const std::vector<VideoEntry> entries = LoadArchive(out);
  WriteIndex(entries, out);
  LogInfo("index of ", entries.size(), " videos: ", (out / "index.html").string());
}

void RunBatchCommand(BatchChoice& choice, const Command& command) {
  if (!choice.index.empty()) return RebuildIndex(choice.index);
  if (choice.archive.empty() || choice.batch.out.empty())
    throw InputError(
        "lumen batch needs an archive (a folder, or a list) and --out OUT; see lumen batch --help");
  choice.batch.for_all = GivenForAll(command);
  const std::vector<ArchiveVideo> videos =
      fs::is_directory(choice.archive) ? FindVideos(choice.archive) : ReadVideoList(choice.archive);
  CatchInterrupts();
  const auto gpu = ShareGpuOf(choice, ShareCores(choice, videos.size()));
  const auto engine = MakeTaskEngine(choice.tasks, choice.batch.out);
  const BatchOutcome outcome = RunBatch(videos, choice.batch, *engine);
  std::cout << outcome.done << " of " << outcome.videos << " videos are done (" << outcome.before
            << " were before), " << outcome.failed
            << " failed: " << (choice.batch.out / "index.html").string() << '\n';
  EndIfInterrupted("the same command goes on with the videos that are left");
  if (outcome.failed > 0)
    throw InputError(choice.batch.out / "failures.csv",
                     StrCat(outcome.failed, " of ", outcome.videos,
                            " videos failed, and why; the same command tries them again"));
}

}  // namespace

void AddBatchCommand(Command& app) {
  Command& command =
      app.AddCommand("batch", "an archive: SLAM, surface and report for every video, and one page over all");
  auto choice = std::make_shared<BatchChoice>();
  command.Add("ARCHIVE", choice->archive,
              "a folder, searched for videos, or a list: CSV with a column `input`, or a path a line");
  command.Add("--out", choice->batch.out, "folder for the results; a batch there goes on");
  command.Add("--index", choice->index, "only write the pages of this batch's folder anew");
  AddTaskOptions(command, choice->tasks, "videos");
  command.AddFlag("--rerun", choice->batch.rerun, "run videos of other settings or versions again");
  command.AddFlag("--allow-mixed-versions", choice->batch.allow_mixed_versions,
                  "keep videos that another version has run");
  AddSharedVideoOptions(command, choice->for_all);
  AddVideoOptions(command, choice->for_all);
  command.Do([choice, &command] { RunBatchCommand(*choice, command); });
}

void AddBatchVideoCommand(Command& app) {
  Command& command = app.AddCommand(kVideoCommand, "one video of a batch");
  command.Hide();
  auto task = std::make_shared<VideoTask>();
  AddVideoTaskOptions(command, *task);
  command.Do([task] { RunVideo(*task); });
}

}  // namespace lumen
