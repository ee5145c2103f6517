#include "lumen/apps/live_coverage.h"

#include <gtest/gtest.h>

#include <condition_variable>

#include "lumen/apps/run_coverage.h"
#include "lumen/base/file.h"
#include "tests/small_run.h"

namespace lumen {
namespace {

// What a run would hand over: every frame by its keyframe, and the map as it is then.
struct Moment {
  PlacedFrame frame;
  std::shared_ptr<const MapSnapshot> map;
};
struct SmallLiveRun {
  std::shared_ptr<const View> view;
  std::vector<Moment> moments;
};

SmallLiveRun MakeMoments(int frames, bool moves) {
  const auto& [sequence, pictures] = SharedSmallVideo(frames);
  SmallLiveRun run{MakeView(sequence.View(), sequence.ContentMask()), {}};
  auto map = std::make_shared<const MapSnapshot>();
  KeyframeId reference = 0;
  for (int i = 0; i < frames; ++i) {
    const SimulatedFrame& shown = pictures[moves ? static_cast<size_t>(i) : 0];
    const Rigid3 pose = ToMap(shown.world_from_camera);
    if (i % 6 == 0) {
      auto next = std::make_shared<MapSnapshot>(*map);
      reference = static_cast<KeyframeId>(next->keyframes.size());
      ++next->version;
      next->keyframes[reference] = {
          MakeSmallKeyframe(shown, i, run.view), {pose, 0, Eigen::VectorXd::Zero(1)}, 0};
      map = next;
    }
    const Rigid3 in_reference = map->keyframes.at(reference).state.world_from_camera.Inverse() * pose;
    run.moments.push_back({{i, i / 30.0, reference, in_reference, 0}, map});
  }
  return run;
}

// Takes what is told, and waits for it.
class Ear {
 public:
  void Hear(const ViewCoverage& coverage) {
    const std::lock_guard lock(mutex_);
    heard_.push_back(coverage);
    changed_.notify_all();
  }
  bool WaitFor(size_t count, double seconds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                             [&] { return heard_.size() >= count; });
  }
  ViewCoverage Last() {
    const std::lock_guard lock(mutex_);
    return heard_.back();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ViewCoverage> heard_;
};

TEST(LiveCoverage, IsToldWhileTheRunGoesOn) {
  const SmallLiveRun run = MakeMoments(48, true);
  Ear ear;
  LiveCoverage live(
      run.view, [&](const ViewCoverage& coverage) { ear.Hear(coverage); }, 0.02);
  for (const Moment& moment : run.moments) live.Add(moment.frame, moment.map);
  ASSERT_TRUE(ear.WaitFor(1, 60));
  const ViewCoverage told = ear.Last();
  EXPECT_NE(told.facts.At("words").AsArray().at(0).AsString().find("% of the wall were seen"),
            std::string::npos);
  EXPECT_GT(told.wall.triangles.size(), 100U);
  EXPECT_EQ(told.wall.colors.size(), told.wall.vertices.size());
}

TEST(LiveCoverage, OfACameraThatStandsStillNothingIsTold) {
  const SmallLiveRun run = MakeMoments(24, false);
  Ear ear;
  LiveCoverage live(
      run.view, [&](const ViewCoverage& coverage) { ear.Hear(coverage); }, 0.02);
  for (const Moment& moment : run.moments) live.Add(moment.frame, moment.map);
  EXPECT_FALSE(ear.WaitFor(1, 1));
}

TEST(RunCoverage, EndsSoonOnceItIsToldTo) {
  const TemporaryFolder folder;
  const RunFolder run = ReadRunFolder(WriteSmallRun(folder.Path(), {.frames = 48}));
  std::atomic<bool> stop = false;
  EXPECT_FALSE(MeasureRunCoverage(run, {}, 1, &stop).ways.empty());
  stop = true;
  EXPECT_THROW(MeasureRunCoverage(run, {}, 1, &stop), CoverageStopped);
}

TEST(LiveCoverage, CanEndBeforeItBegan) {
  const auto view = std::make_shared<const View>();
  const LiveCoverage live(
      view, [](const ViewCoverage&) { FAIL(); }, 10);
}

}  // namespace
}  // namespace lumen
