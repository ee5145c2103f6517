// Benchmarks of the rooms graph and factors, on one core. Each checks its result after the timed loop, so
// that a fast wrong kernel cannot win, and reports the ratio to the plain kernel measured in the same run.
#include <benchmark/benchmark.h>

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "lumen/base/timer.h"
#include "lumen/factors/feature_metric_factor.h"
#include "lumen/factors/geometric_consistency_factor.h"
#include "lumen/factors/pair_scene_test.h"
#include "lumen/factors/pose_scale_scene_test.h"
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
  PairScene scene;  // all 64 × 80 pixels are samples
  Values values;

  explicit DensePair(bool wide) : scene(MakeCavityScene(Lens(wide))) {
    Random random(1);
    values = scene.TrueValues();
    SetPose(values, 0, PoseOf(values, 0).Retract(RandomTangent(random, 0.01)));
    values.Insert(PoseKey(7), scene.TargetFromSource().Retract(RandomTangent(random, 0.01)));
  }

 private:
  static PairSceneOptions Lens(bool wide) {
    const PairSceneOptions all{.whole_image = true};
    return wide ? Wide(all) : all;
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
  const DensePair pair(state.range(0) != 0);
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
BENCHMARK(TrackingFm)->ArgName("fisheye")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void MappingFm29(benchmark::State& state) {
  RunFm(state, [](const PairScene&) { return PairVariables::World(0, 1); });
}
BENCHMARK(MappingFm29)->ArgName("fisheye")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void MappingGc46(benchmark::State& state) {
  const DensePair pair(state.range(0) != 0);
  GeometricConsistencyOptions plain;
  plain.plain = true;
  const PairVariables variables = PairVariables::World(0, 1);
  const GeometricConsistencyFactor fast(variables, pair.scene.samples, pair.scene.target);
  const GeometricConsistencyFactor reference(variables, pair.scene.samples, pair.scene.target, plain);
  RunFactor(state, fast, reference, pair.values);
}
BENCHMARK(MappingGc46)->ArgName("fisheye")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void PoseScaleGraph500(benchmark::State& state) {
  const PoseScaleScene scene = MakePoseScaleScene({.keyframes = 500, .loops = 50, .seed = 2});
  PoseScaleResult result;
  double best = 1e300;
  for (auto _ : state) {
    const Stopwatch watch;
    result = SolvePoseScaleGraph(scene.problem);
    best = std::min(best, watch.ElapsedMs());
  }
  if (result.status != PoseScaleStatus::kConverged) state.SkipWithError("did not converge");
  const double ratio = MeanPositionError(result.keyframes, scene.truth) /
                       MeanPositionError(scene.problem.keyframes, scene.truth);
  if (!(ratio < 0.2)) state.SkipWithError("did not close the loops");
  state.counters["best_ms"] = best;
  state.counters["iterations"] = result.solver.iterations;
  state.counters["error_left"] = ratio;
}
BENCHMARK(PoseScaleGraph500)->Unit(benchmark::kMillisecond)->MinTime(1.0);

// A smoother over a chain, and what adding further keyframes to it costs.
class ChainRun {
 public:
  explicit ChainRun(int64_t length) { GrowTo(length); }
  void GrowTo(int64_t length) {
    for (; next_ < length; ++next_) Update(MakeChainLink(next_, random_));
  }
  double AddMs() {
    const ChainLink link = MakeChainLink(next_++, random_);
    const Stopwatch watch;
    Update(link);
    return watch.ElapsedMs();
  }
  const SmootherSummary& Last() const { return last_; }

 private:
  void Update(const ChainLink& link) {
    last_ = smoother_.Update({.new_values = link.values, .new_factors = link.factors});
  }

  Random random_{1};
  int64_t next_ = 0;
  IncrementalSmoother smoother_;
  SmootherSummary last_;
};

double ResidentKb() {
  std::ifstream statm("/proc/self/statm");
  double total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1024;
}

double MedianMs(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

// Adding one keyframe of 23 unknowns with four neighbours: a chain of 5,000 against one of 50. The two are
// timed in turns, so that whatever else the machine does meets both.
void SmootherLongAgainstShortChain(benchmark::State& state) {
  const double empty_kb = ResidentKb();
  ChainRun long_chain(2500);
  const double half_kb = ResidentKb();
  long_chain.GrowTo(5000);
  state.counters["kb_per_keyframe_first_half"] = (half_kb - empty_kb) / 2500;
  state.counters["kb_per_keyframe_second_half"] = (ResidentKb() - half_kb) / 2500;
  std::vector<double> long_ms, short_ms;
  for (auto _ : state) {
    ChainRun short_chain(50);
    for (int i = 0; i < 20; ++i) {
      long_ms.push_back(long_chain.AddMs());
      short_ms.push_back(short_chain.AddMs());
    }
    if (short_chain.Last().eliminated_variables != long_chain.Last().eliminated_variables) {
      state.SkipWithError("the long chain eliminates more");
    }
  }
  state.counters["add_to_5000_ms"] = MedianMs(long_ms);
  state.counters["add_to_50_ms"] = MedianMs(short_ms);
  state.counters["ratio"] = MedianMs(long_ms) / MedianMs(short_ms);
  state.counters["eliminated"] = long_chain.Last().eliminated_variables;
}
BENCHMARK(SmootherLongAgainstShortChain)->Unit(benchmark::kMillisecond)->Iterations(30);

}  // namespace
}  // namespace lumen

BENCHMARK_MAIN();
