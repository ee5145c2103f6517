#include "lumen/apps/live_coverage.h"

#include <algorithm>
#include <chrono>

#include "lumen/apps/coverage_words.h"
#include "lumen/base/step_back.h"
#include "lumen/base/timer.h"
#include "lumen/surface/map_surface.h"

namespace lumen {

namespace {

constexpr double kRest = 40;  // times as long as the work took
constexpr size_t kMostFrames = 2000;
constexpr double kCoarse = 3;  // voxels to one of the run's own surface

CoverageInput InputOf(const std::vector<PlacedFrame>& frames, const std::shared_ptr<const MapSnapshot>& map,
                      const View& view) {
  const int submap = LargestSubmap(*map);
  CoverageInput input;
  input.views = ListMapViews(map, submap);
  input.eye.camera = Camera(view.camera, view.mask.Width(), view.mask.Height());
  input.eye.mask = view.mask;
  for (const PlacedFrame& frame : frames) {
    const auto reference = map->keyframes.find(frame.reference);
    if (reference == map->keyframes.end() || reference->second.submap != submap) continue;
    if (const auto pose = LocateFrame(frame, *map)) input.frames.push_back({frame.index, frame.time, *pose});
  }
  return input;
}

}  // namespace

LiveCoverage::LiveCoverage(std::shared_ptr<const View> view, Tell tell, double least_rest_seconds)
    : view_(std::move(view)),
      tell_(std::move(tell)),
      least_rest_(least_rest_seconds),
      worker_([this] { Work(); }) {}

LiveCoverage::~LiveCoverage() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_one();
  worker_.join();
}

void LiveCoverage::Add(const PlacedFrame& frame, std::shared_ptr<const MapSnapshot> map) {
  const std::lock_guard lock(mutex_);
  map_ = std::move(map);
  if (frame.reference < 0 || ++skipped_ < every_) return;
  skipped_ = 0;
  frames_.push_back(frame);
  if (frames_.size() < kMostFrames) return;
  for (size_t i = 0; 2 * i < frames_.size(); ++i) frames_[i] = frames_[2 * i];
  frames_.resize((frames_.size() + 1) / 2);
  every_ *= 2;
}

double LiveCoverage::MeasureOnce() {
  std::vector<PlacedFrame> frames;
  std::shared_ptr<const MapSnapshot> map;
  {
    const std::lock_guard lock(mutex_);
    frames = frames_;
    map = map_;
  }
  const Stopwatch clock;
  if (map == nullptr || map->keyframes.empty()) return 0;
  const CoverageInput input = InputOf(frames, map, *view_);
  const FusionResult fused = FuseViews(input.views, {.voxel_factor = kCoarse}, 1);
  if (fused.status != FusionStatus::kOk) return clock.ElapsedMs() / 1000;
  const WallCoverage coverage = MeasureCoverage(fused.mesh, input, {}, 1);
  if (!coverage.ways.empty()) tell_(ShowCoverage(coverage, fused.mesh, 1));
  return clock.ElapsedMs() / 1000;
}

void LiveCoverage::Work() {
  StepBack();
  double rest = least_rest_;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, std::chrono::duration<double>(rest), [this] { return stop_; })) return;
    }
    rest = std::max(least_rest_, kRest * MeasureOnce());
  }
}

}  // namespace lumen
