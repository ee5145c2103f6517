// The lines of events.jsonl, in the order in which things happened. A keyframe's line tells how long mapping
// took over it, which is known a little later where mapping works behind: the line waits for that a moment,
// and all after it wait too; if the moment passes, a line of its own brings it:
//   {"event": "mapped", "frame": 42, "map_ms": 310.5}
#pragma once

#include <deque>
#include <set>

#include "lumen/base/json.h"
#include "lumen/slam/front_end.h"

namespace lumen {

class RunEvents {
 public:
  static constexpr double kPatienceSeconds = 0.25;

  // `now` is in seconds, of any clock that goes on evenly.
  void AddFrame(const FrameResult& result, double now);
  // `map` knows the loop's keyframes.
  void AddLoop(const LoopEvent& loop, const MapSnapshot& map);
  void AddLine(const Json& line) { lines_.push_back({line}); }
  // In any order with the frames.
  void AddMapped(int64_t frame, double ms);
  // The lines that need not wait any longer.
  std::string Take(double now);

 private:
  struct Line {
    Json json;
    int64_t awaits = -1;  // the frame whose mapping time is still to come
    double since = 0;
  };

  std::deque<Line> lines_;
  std::map<int64_t, double> mapped_;  // not told of yet
  std::set<int64_t> late_;            // keyframes whose lines went without
};

}  // namespace lumen
