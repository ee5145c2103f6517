// The front end alone: networks and tracking of 300 simulated frames against keyframes that do not change, as
// the live pipeline runs them (networks on one thread, tracking on another), in both precisions; and the same
// on one thread, in single precision, which the others are a ratio to. Frames must lie where the map that the
// keyframes are from has them.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <optional>

#include "lumen/apps/model_path.h"
#include "lumen/base/timer.h"
#include "lumen/base/worker.h"
#include "lumen/network/engine_priors.h"
#include "lumen/sim/sequence.h"
#include "lumen/slam/live_frame.h"
#include "lumen/slam/slam.h"

namespace lumen {
namespace {

constexpr int kFrames = 300;

// A video, and the map that SLAM made of it.
struct Scene {
  Model model;
  std::optional<LensView> lens;
  std::shared_ptr<const View> view;
  std::vector<InputFrame> frames;
  std::shared_ptr<const MapSnapshot> map;
  KeyframeId first = 0;
  Trajectory poses;

  std::shared_ptr<Priors> MakePriors(const char* precision) const {
    return std::make_shared<EnginePriors>(model, *lens, PriorsOptions{.precision = precision});
  }
};

Scene MakeScene() {
  Scene scene;
  const auto path = FindModel("");
  scene.model = path ? LoadModel(*path) : MakeRandomModel(1);
  SequenceOptions options;
  options.anatomy = AnatomyKind::kNasal;
  options.seed = 951;
  options.width = scene.model.depth.input_width;
  options.height = scene.model.depth.input_height;
  options.path.frames = kFrames;
  const SimulatedSequence sequence(options);
  scene.lens.emplace(sequence.View(), sequence.ContentMask());
  scene.view = MakeView(sequence.View(), sequence.ContentMask());
  for (int k = 0; k < kFrames; ++k) scene.frames.push_back({k, k / 30.0, sequence.Render(k).image});
  Slam slam(scene.MakePriors("auto"), scene.view);
  for (const InputFrame& frame : scene.frames) slam.Process(frame);
  scene.map = slam.Snapshot();
  scene.first = scene.map->keyframes.begin()->first;
  scene.poses = slam.FramePoses();
  return scene;
}

const Scene& GetScene() {
  static const Scene scene = MakeScene();
  return scene;
}

// Tracking from frame to frame; the reference follows.
class Follower {
 public:
  Follower(const Scene& scene, std::shared_ptr<Priors> priors)
      : scene_(scene), priors_(std::move(priors)), tracker_(TrackingOptions{}), reference_(scene.first) {
    motion_.last = {scene.frames[0].time, scene.map->keyframes.at(scene.first).state.world_from_camera};
  }

  void Track(const InputFrame& input, LiveFrame& live) {
    AskLater(live, input, *priors_, times_);
    const TrackResult result = tracker_.Track(live, *scene_.map, reference_, motion_);
    if (!result.Placed()) return;
    ++placed_;
    reference_ = result.reference;
    motion_.before_last = motion_.last;
    motion_.last = {input.time, result.world_from_camera};
    poses_.push_back(result.world_from_camera.Translation());
  }

  // The share of frames placed, and their median distance from where the map has them, in its mean depths.
  int Placed() const { return placed_; }
  double MedianError() const {
    std::vector<double> errors;
    for (size_t i = 0; i < std::min(poses_.size(), scene_.poses.size()); ++i)
      errors.push_back((poses_[i] - scene_.poses[i].world_from_camera.Translation()).norm());
    std::nth_element(errors.begin(), errors.begin() + std::ssize(errors) / 2, errors.end());
    return errors[errors.size() / 2] / MeanDepth(scene_.map->keyframes.at(scene_.first));
  }

 private:
  const Scene& scene_;
  std::shared_ptr<Priors> priors_;
  Tracker tracker_;
  StageTimes times_;
  KeyframeId reference_;
  Motion motion_;
  int placed_ = 0;
  std::vector<Eigen::Vector3d> poses_;
};

void FollowOnOneThread(const Scene& scene, Priors& priors, Follower& follower) {
  StageTimes times;
  for (const InputFrame& frame : scene.frames) {
    LiveFrame live = MakeLiveFrame(frame, scene.view, priors, times);
    follower.Track(frame, live);
  }
}

void FollowOnTwoThreads(const Scene& scene, Priors& priors, Follower& follower) {
  struct Prepared {
    const InputFrame* input;
    LiveFrame live;
  };
  Worker<std::shared_ptr<Prepared>> tracking(3, [&](const std::shared_ptr<Prepared>& prepared) {
    follower.Track(*prepared->input, prepared->live);
  });
  StageTimes times;
  for (const InputFrame& frame : scene.frames)
    tracking.Submit(
        std::make_shared<Prepared>(Prepared{&frame, MakeLiveFrame(frame, scene.view, priors, times)}));
  tracking.Finish();
}

double single_ms = 0;  // of the first, which the others are compared with

// Arguments: threads, precision (0 single, 1 half where there is one).
void BM_FrontEnd(benchmark::State& state) {
  const Scene& scene = GetScene();
  const char* precision = state.range(1) == 0 ? "float" : "auto";
  const auto priors = scene.MakePriors(precision);
  double best = 1e300;
  for (auto _ : state) {
    Follower follower(scene, scene.MakePriors(precision));
    const Stopwatch watch;
    if (state.range(0) == 1)
      FollowOnOneThread(scene, *priors, follower);
    else
      FollowOnTwoThreads(scene, *priors, follower);
    best = std::min(best, watch.ElapsedMs());
    if (follower.Placed() != kFrames) state.SkipWithError("a frame was not placed");
    if (!(follower.MedianError() < 0.02)) state.SkipWithError("frames are not where the map has them");
  }
  if (single_ms == 0) single_ms = best;
  state.counters["frames_per_s"] = 1000.0 * kFrames / best;
  state.counters["ratio"] = single_ms / best;
  state.SetLabel(precision);
}
BENCHMARK(BM_FrontEnd)
    ->Args({1, 0})
    ->Args({1, 1})
    ->Args({2, 0})
    ->Args({2, 1})
    ->Iterations(2)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace lumen

BENCHMARK_MAIN();
