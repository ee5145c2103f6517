// The simulator on one core with all effects on: set-up per anatomy and frames per second at the two sizes
// that matter (160×128 for training, 320×256 for sequences).
#include <benchmark/benchmark.h>

#include <cmath>
#include <map>

#include "lumen/sim/flow.h"
#include "lumen/sim/sequence.h"

namespace lumen {
namespace {

AnatomyKind KindOf(const benchmark::State& state) { return static_cast<AnatomyKind>(state.range(0)); }

const std::shared_ptr<const Anatomy>& SceneOf(AnatomyKind kind) {
  static std::map<AnatomyKind, std::shared_ptr<const Anatomy>> scenes;
  auto& scene = scenes[kind];
  if (scene == nullptr) scene = MakeAnatomy(kind, 1);
  return scene;
}

SequenceOptions EverythingOn(AnatomyKind kind, int width, int height, int threads) {
  SequenceOptions options;
  options.anatomy = kind;
  options.width = width;
  options.height = height;
  options.threads = threads;
  options.appearance = MakeAppearance(kind, options.seed);
  options.appearance->sensor.jpeg_quality = 85;
  return options;
}

void SetUp(benchmark::State& state) {
  std::unique_ptr<const Anatomy> anatomy;
  for (auto _ : state) anatomy = MakeAnatomy(KindOf(state), 1);
  if (anatomy->Routes().empty() || anatomy->Distance(anatomy->Routes()[0].At(5).position) <= 0) {
    state.SkipWithError("no way into the anatomy");
  }
  state.counters["MB"] = static_cast<double>(anatomy->Field().MemoryBytes()) / 1e6;
}

// The picture must be a picture, and its depth must lie on the wall.
bool IsRight(const SimulatedSequence& sequence, const SimulatedFrame& frame) {
  const int x = frame.image.Width() / 2;
  const int y = frame.image.Height() / 2;
  const Eigen::Vector3d ray = *sequence.View().Unproject({x, y});
  const Eigen::Vector3d point = frame.world_from_camera * (ray * (frame.depth(x, y) / ray.z()));
  double sum = 0;
  for (size_t i = 0; i < frame.image.Size(); ++i) sum += frame.image.Data()[i];
  const double mean = sum / static_cast<double>(frame.image.Size());
  return std::abs(sequence.Scene().Distance(point.cast<float>())) < 0.05F && mean > 20 && mean < 220;
}

void RenderFrames(benchmark::State& state) {
  const auto width = static_cast<int>(state.range(1));
  const auto height = static_cast<int>(state.range(2));
  const SimulatedSequence sequence(
      SceneOf(KindOf(state)), EverythingOn(KindOf(state), width, height, static_cast<int>(state.range(3))));
  SimulatedFrame frame;
  int index = 0;
  for (auto _ : state) {
    frame = sequence.Render(index);
    index = (index + 37) % sequence.Size();
  }
  if (!IsRight(sequence, frame)) state.SkipWithError("wrong frame");
  state.counters["frames/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void RenderTruthOnly(benchmark::State& state) {
  const SimulatedSequence sequence(SceneOf(KindOf(state)), EverythingOn(KindOf(state), 160, 128, 1));
  FlowField flow;
  for (auto _ : state) {
    flow =
        ComputeFlow(sequence.FrameRenderer(), sequence.RenderDepth(20), sequence.Pose(20), sequence.Pose(30));
  }
  if (!(flow.overlap > 0.1 && flow.overlap <= 1)) state.SkipWithError("wrong overlap");
}

void ForEachKind(benchmark::internal::Benchmark* bench) {
  for (int kind = 0; kind < 4; ++kind) bench->Args({kind});
}

void ForEachKindAndSize(benchmark::internal::Benchmark* bench) {
  for (int kind = 0; kind < 4; ++kind) {
    bench->Args({kind, 160, 128, 1});
    bench->Args({kind, 320, 256, 1});
  }
  bench->Args({0, 320, 256, 2});  // two threads, to see that it scales
}

BENCHMARK(SetUp)->Apply(ForEachKind)->ArgName("anatomy")->Unit(benchmark::kMillisecond);
BENCHMARK(RenderFrames)
    ->Apply(ForEachKindAndSize)
    ->ArgNames({"anatomy", "width", "height", "threads"})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(RenderTruthOnly)->Apply(ForEachKind)->ArgName("anatomy")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lumen

BENCHMARK_MAIN();
