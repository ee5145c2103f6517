// One input through SLAM into a run's folder: what `lumen run` and the studies do.
#pragma once

#include <atomic>

#include "lumen/apps/run_setup.h"

namespace lumen {

struct RunOutcome {
  int64_t frames = 0;
  int64_t placed = 0;
  int64_t keyframes = 0;
  bool interrupted = false;
  std::shared_ptr<const MapSnapshot> map;
};

// Throws InputError for input that cannot be used (no frame of it can be placed included) and OutputError
// for a disk that does not take the results. Whatever fails, it stops within a second, the folder is
// completed with what there is, and its summary says why. `stop` ends the run early.
RunOutcome RunSequence(const RunOptions& options, const std::atomic<bool>& stop);
// The same of what PrepareRun made.
RunOutcome RunSequence(const RunOptions& options, RunSetup setup, const std::atomic<bool>& stop);

}  // namespace lumen
