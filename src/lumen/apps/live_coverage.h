// How complete a run is so far, told now and then while it goes on, from a thread of its own that hardly
// costs the run anything: after each time it rests for many times as long as that took.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "lumen/slam/frame_log.h"
#include "lumen/viewer/coverage_layer.h"

namespace lumen {

class LiveCoverage {
 public:
  using Tell = std::function<void(const ViewCoverage&)>;
  LiveCoverage(std::shared_ptr<const View> view, Tell tell, double least_rest_seconds = 10);
  ~LiveCoverage();
  LiveCoverage(const LiveCoverage&) = delete;
  LiveCoverage& operator=(const LiveCoverage&) = delete;

  // Returns at once.
  void Add(const PlacedFrame& frame, std::shared_ptr<const MapSnapshot> map);

 private:
  void Work();
  double MeasureOnce();  // seconds it took

  std::shared_ptr<const View> view_;
  Tell tell_;
  double least_rest_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<PlacedFrame> frames_;  // some of them: enough to know where the scope was
  size_t every_ = 4, skipped_ = 0;
  std::shared_ptr<const MapSnapshot> map_;
  bool stop_ = false;
  std::thread worker_;
};

}  // namespace lumen
