// Keeps a run's folder up to date while the run goes on, on a thread of its own: what is handed over is on
// disk within a second (see run_events.h, run_paths.h), keyframes' depth and pictures as they come,
// everything once more at the end, when all keyframes have found their place.
#pragma once

#include <set>

#include "lumen/apps/run_events.h"
#include "lumen/apps/run_paths.h"
#include "lumen/apps/run_summary.h"
#include "lumen/base/ticker.h"
#include "lumen/base/timer.h"

namespace lumen {

class RunRecorder {
 public:
  RunRecorder(RunWriter& writer, std::shared_ptr<const View> view);

  // Returns at once. Throws what has kept an earlier frame from being written, so that nobody goes on for a
  // disk that is full. `map` knows the keyframes of `loops`.
  void Record(const FrameResult& result, const PlacedFrame& placed, std::shared_ptr<const MapSnapshot> map,
              std::vector<LoopEvent> loops, std::vector<Json> others = {});
  void RecordMapped(int64_t frame, double ms);  // on any thread
  // All that can be written is, also after a failure; which is thrown then.
  void Finish(const MapSnapshot& map, const std::vector<LoopEvent>& loops,
              const std::vector<Json>& others = {});

  // Of what was handed over; for the thread that does.
  const RunCounts& Counts() const { return counts_; }

 private:
  struct Recorded {
    FrameResult result;
    PlacedFrame placed;
    std::shared_ptr<const MapSnapshot> map;
    std::vector<LoopEvent> loops;
    std::vector<Json> others;  // lines of events.jsonl that came with it
    double at = 0;
  };
  struct News {  // since the last time
    std::vector<Recorded> frames;
    std::vector<std::pair<int64_t, double>> mapped;
  };
  double Now() const { return clock_.ElapsedMs() / 1000; }
  void WriteNew();
  void Sort(const News& news);
  void WriteEvents(double now);
  void WriteKeyframes(const MapSnapshot& map);

  RunWriter& writer_;
  std::shared_ptr<const View> view_;
  const Stopwatch clock_;
  RunCounts counts_;
  std::mutex mutex_;
  News news_;  // guarded by it; all below belongs to the ticker's thread, and after it to Finish
  std::shared_ptr<const MapSnapshot> map_;
  RunEvents events_;
  std::string unwritten_events_;
  RunPaths paths_;
  std::set<KeyframeId> written_;   // whose depth is on disk, as it was then
  std::set<KeyframeId> pictured_;  // whose picture is, which stays
  Ticker ticker_;                  // last: it starts when everything else stands
};

}  // namespace lumen
