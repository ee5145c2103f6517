// Keeps a run's folder up to date while the run goes on: a line per frame at once, paths and new keyframes'
// depth every second, everything once more at the end, when all keyframes have found their place.
#pragma once

#include <set>

#include "lumen/base/timer.h"
#include "lumen/io/run_writer.h"
#include "lumen/slam/front_end.h"

namespace lumen {

class RunRecorder {
 public:
  RunRecorder(RunWriter& writer, std::shared_ptr<const View> view)
      : writer_(writer), view_(std::move(view)) {}

  void Record(const FrameResult& result, const PlacedFrame& placed, const MapSnapshot& map,
              const std::vector<LoopEvent>& loops);
  void RecordLoops(const MapSnapshot& map, const std::vector<LoopEvent>& loops);
  void Finish(const MapSnapshot& map);

  struct Counts {
    int64_t frames = 0, placed = 0, weak = 0, lost_events = 0, relocalised = 0;
    int64_t local_loops = 0, global_loops = 0, rejected_loops = 0, removed_loops = 0, joined = 0;
  };
  const Counts& GetCounts() const { return counts_; }
  const std::vector<PlacedFrame>& Frames() const { return frames_; }

 private:
  void WriteNew(const MapSnapshot& map);

  RunWriter& writer_;
  std::shared_ptr<const View> view_;
  std::vector<PlacedFrame> frames_;
  std::set<KeyframeId> written_;
  Stopwatch since_write_;
  bool was_lost_ = false;
  Counts counts_;
};

}  // namespace lumen
