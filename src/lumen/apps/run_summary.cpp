#include "lumen/apps/run_summary.h"

#include <sys/resource.h>

#include <algorithm>

#include "lumen/eval/statistics.h"
#include "lumen/io/run_folder.h"

namespace lumen {

namespace {

double PeakMemoryMb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

Json DescribeStages(const StageTimes& times) {
  Json stages = Json::MakeObject();
  for (const auto& [stage, time] : times.Get()) {
    Json entry = Json::MakeObject();
    entry["count"] = time.count;
    entry["mean_ms"] = time.MeanMs();
    entry["max_ms"] = time.max_ms;
    stages[stage] = entry;
  }
  return stages;
}

// How late a live run's frames came out.
Json DescribeDelays(const std::vector<double>& delays) {
  Json entry = Json::MakeObject();
  entry["median"] = Quantile(delays, 0.5);
  entry["p95"] = Quantile(delays, 0.95);
  entry["worst"] = Quantile(delays, 1);
  return entry;
}

}  // namespace

void RunCounts::Add(const FrameResult& result) {
  const bool lost = !result.track.Placed();
  ++frames;
  if (!lost) ++placed;
  if (result.track.status == TrackStatus::kWeak) ++weak;
  if (result.track.status == TrackStatus::kRelocalised) ++relocalised;
  if (lost && !was_lost_) ++lost_events;
  was_lost_ = lost;
  if (result.delay_ms >= 0) delays_ms.push_back(result.delay_ms);
}

void RunCounts::Add(const LoopEvent& loop) {
  switch (loop.kind) {
    case LoopEventKind::kRejected:
      ++rejected_loops;
      break;
    case LoopEventKind::kRemoved:
      ++removed_loops;
      break;
    case LoopEventKind::kJoined:
      ++joined;
      ++global_loops;
      break;
    case LoopEventKind::kClosed:
      ++(loop.edge == EdgeKind::kLocalLoop ? local_loops : global_loops);
      break;
  }
}

Json Summarise(Json known, const RunCounts& counts, const RunTotals& totals, const MapSnapshot& map,
               const StageTimes& times) {
  Json summary = std::move(known);
  summary["frames"] = counts.frames;
  summary["placed"] = counts.placed;
  summary["weak"] = counts.weak;
  summary["dropped"] = totals.dropped;
  summary["unreadable"] = totals.unreadable;
  const auto active = std::count_if(map.keyframes.begin(), map.keyframes.end(),
                                    [](const auto& keyframe) { return keyframe.second.IsActive(); });
  summary["keyframes"] = static_cast<int64_t>(active);
  summary["retired_keyframes"] = static_cast<int64_t>(map.keyframes.size()) - static_cast<int64_t>(active);
  summary["submaps"] = static_cast<int64_t>(SubmapsOf(map).size());
  summary["lost_events"] = counts.lost_events;
  summary["relocalised"] = counts.relocalised;
  summary["local_loops"] = counts.local_loops;
  summary["global_loops"] = counts.global_loops;
  summary["rejected_loops"] = counts.rejected_loops;
  summary["removed_loops"] = counts.removed_loops;
  summary["joined_submaps"] = counts.joined;
  summary["steps_shortened"] = totals.trouble.shortened;
  summary["steps_dropped"] = totals.trouble.dropped;
  summary["parts_held"] = totals.trouble.singular;
  summary["seconds"] = totals.seconds;
  summary["fps"] = totals.seconds > 0 ? static_cast<double>(counts.frames) / totals.seconds : 0.0;
  if (!counts.delays_ms.empty()) summary["delay_ms"] = DescribeDelays(counts.delays_ms);
  summary["peak_memory_mb"] = PeakMemoryMb();
  summary["stages"] = DescribeStages(times);
  if (!totals.uncertainty.IsNull()) summary["uncertainty"] = totals.uncertainty;
  summary["interrupted"] = totals.interrupted;
  summary[run_key::kFinished] = totals.failed.empty();
  if (!totals.failed.empty()) summary[run_key::kFailed] = totals.failed;
  return summary;
}

}  // namespace lumen
