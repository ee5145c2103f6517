// A batch: every video of an archive through SLAM to its report, each in a process and a folder of its own.
// A video that is finished is not run again, one that broke off begins anew, one that failed is tried again.
#pragma once

#include "lumen/apps/archive_index.h"
#include "lumen/apps/archive_list.h"
#include "lumen/tasks/task_engine.h"

namespace lumen {

struct BatchOptions {
  std::filesystem::path out;
  std::vector<GivenOption> for_all;   // what the batch was given for all of its videos
  int cores = 0;                      // that each video may keep busy; 0: all that are there
  bool rerun = false;                 // videos of other settings or versions are run again
  bool allow_mixed_versions = false;  // … or those of other versions are kept
};

// Of the batch's own videos; OUT may hold more, of earlier batches.
struct BatchOutcome {
  size_t videos = 0;
  size_t before = 0;  // were finished already
  size_t done = 0;
  size_t failed = 0;
};

// OUT's pages are up to date whenever a video has ended. Throws InputError before anything runs if finished
// videos have other settings or come from another version, or if another batch is at work in OUT.
BatchOutcome RunBatch(const std::vector<ArchiveVideo>& videos, const BatchOptions& options,
                      TaskEngine& engine);

}  // namespace lumen
