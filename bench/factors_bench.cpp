// Benchmarks of the rooms graph and factors, on one core. Each checks its result after the timed loop, so
// that a fast wrong kernel cannot win, and reports the ratio to the plain kernel measured in the same run.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "lumen/base/timer.h"
#include "lumen/factors/feature_metric_factor.h"
#include "lumen/factors/geometric_consistency_factor.h"
#include "lumen/factors/pair_scene_test.h"
#include "lumen/graph/incremental_smoother.h"
#include "lumen/graph/sample_factors_test.h"

namespace lumen {
namespace {

// Best of several runs, in ms: what the code costs, not what else runs on the machine.
template <typename Body>
double BestMs(int runs, const Body& body) {
  double best = 1e300;
  for (int i = 0; i < runs; ++i) {
    const Stopwatch watch;
    body();
    best = std::min(best, watch.ElapsedMs());
  }
  return best;
}

struct DensePair {
  PairScene scene = MakeCavityScene({.whole_image = true});  // all 64 × 80 pixels are samples
  Values values;

  DensePair() {
    Random random(1);
    values = scene.TrueValues();
    values.Set(PoseKey(0), values.Pose(PoseKey(0)).Retract(RandomTangent(random, 0.01)));
    values.Insert(PoseKey(7), scene.TargetFromSource().Retract(RandomTangent(random, 0.01)));
  }
};

// Times the fast factor, then compares it with the plain one.
void RunFactor(benchmark::State& state, const Factor& fast, const Factor& plain, const Values& values) {
  NormalBlock block;
  double best = 1e300;
  for (auto _ : state) {
    const Stopwatch watch;
    block = fast.Linearize(values);
    best = std::min(best, watch.ElapsedMs());
    benchmark::DoNotOptimize(block.error);
  }
  NormalBlock reference;
  const double plain_ms = BestMs(3, [&] { reference = plain.Linearize(values); });
  const double difference = (block.H - reference.H).norm() / reference.H.norm();
  if (!(difference < 1e-5) || block.count != reference.count)
    state.SkipWithError("differs from the plain kernel");
  state.counters["best_ms"] = best;
  state.counters["plain_over_fast"] = plain_ms / best;
  state.counters["H_difference"] = difference;
  state.counters["samples"] = static_cast<double>(block.count);
  state.counters["error_ms"] = BestMs(20, [&] { benchmark::DoNotOptimize(fast.Error(values)); });
}

template <typename Make>
void RunFm(benchmark::State& state, const Make& variables) {
  const DensePair pair;
  FeatureMetricOptions plain;
  plain.plain = true;
  const FeatureMetricFactor fast(variables(pair.scene), pair.scene.samples, pair.scene.target->frame);
  const FeatureMetricFactor reference(variables(pair.scene), pair.scene.samples, pair.scene.target->frame,
                                      plain);
  RunFactor(state, fast, reference, pair.values);
}

void TrackingFm(benchmark::State& state) {
  RunFm(state, [](const PairScene& scene) {
    return PairVariables::Relative(
        PoseKey(7), DepthVariables::Fixed(scene.source_state.log_scale, scene.source_state.code));
  });
}
BENCHMARK(TrackingFm)->Unit(benchmark::kMillisecond);

void MappingFm29(benchmark::State& state) {
  RunFm(state, [](const PairScene&) { return PairVariables::World(0, 1); });
}
BENCHMARK(MappingFm29)->Unit(benchmark::kMillisecond);

void MappingGc46(benchmark::State& state) {
  const DensePair pair;
  GeometricConsistencyOptions plain;
  plain.plain = true;
  const PairVariables variables = PairVariables::World(0, 1);
  const GeometricConsistencyFactor fast(variables, pair.scene.samples, pair.scene.target);
  const GeometricConsistencyFactor reference(variables, pair.scene.samples, pair.scene.target, plain);
  RunFactor(state, fast, reference, pair.values);
}
BENCHMARK(MappingGc46)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lumen

BENCHMARK_MAIN();
