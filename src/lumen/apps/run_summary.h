// What a run amounts to: counted while it goes on, written into summary.json at its end.
#pragma once

#include "lumen/base/json.h"
#include "lumen/base/timer.h"
#include "lumen/slam/front_end.h"

namespace lumen {

struct RunCounts {
  int64_t frames = 0, placed = 0, weak = 0, lost_events = 0, relocalised = 0;
  std::vector<double> delays_ms;  // of a live run's frames
  int64_t local_loops = 0, global_loops = 0, rejected_loops = 0, removed_loops = 0, joined = 0;

  void Add(const FrameResult& result);
  void Add(const LoopEvent& loop);

 private:
  bool was_lost_ = false;
};

struct RunTotals {
  int64_t dropped = 0;     // frames that came too late
  int64_t unreadable = 0;  // that were passed over
  double seconds = 0;
  bool interrupted = false;
  MapTrouble trouble;
  Json uncertainty;    // medians; see run_uncertainty.h
  std::string failed;  // why; empty if nothing did
};

// `known` is what was known before the run.
Json Summarise(Json known, const RunCounts& counts, const RunTotals& totals, const MapSnapshot& map,
               const StageTimes& times);

}  // namespace lumen
