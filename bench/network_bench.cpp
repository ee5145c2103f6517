// The networks and the matcher, on one and two threads. Each checks its result against the plain version
// after the timed loop; the share of the kernel's peak is measured in the same run.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <tuple>

#include "lumen/base/timer.h"
#include "lumen/network/arithmetic.h"
#include "lumen/network/engine.h"
#include "lumen/network/network_test_data.h"
#include "lumen/network/plain_network.h"
#include "lumen/scene/matching.h"

namespace lumen {
namespace {

constexpr int kAllHeads = 3;  // a bit per head

// Arguments: network (0 feature, 1 depth), threads, heads, precision (0 single, 1 half).
void BM_Network(benchmark::State& state) {
  const NetworkSpec spec = state.range(0) == 0 ? MakeFeatureSpec() : MakeDepthSpec();
  const auto tensors = MakeTensors(spec);
  const Mask mask = MakeMask(MaskKind::kCircle, spec.input_width, spec.input_height);
  const RgbImage image = MakeImage(spec.input_width, spec.input_height);
  const bool half = state.range(3) == 1;
  NetworkEngine engine(
      spec, tensors, mask,
      {.threads = static_cast<int>(state.range(1)), .half = half ? HalfArithmetic() : nullptr});
  std::vector<Image<float>> heads(2);
  double best = 1e300;
  for (auto _ : state) {
    const Stopwatch watch;
    engine.RunTrunk(image);
    for (int head = 0; head < 2; ++head) {
      if ((state.range(2) >> head & 1) != 0) heads[static_cast<size_t>(head)] = engine.RunHead(head);
    }
    best = std::min(best, watch.ElapsedMs());
  }
  state.counters["best_ms"] = best;
  state.SetLabel(spec.name + (state.range(2) == kAllHeads ? "" : ", first head only") +
                 (half ? ", half" : ""));
  if (state.range(1) != 1 || half) return;  // one check per network is enough; half has its tests
  const std::vector<Image<float>> plain = RunPlainNetwork(spec, tensors, mask, image);
  for (size_t head = 0; head < 2; ++head) {
    if (heads[head].Empty()) continue;
    const double bound = spec.heads[head].activation == Activation::kAbs ? 1e-4 * Median(plain[head]) : 2e-4;
    if (!(LargestDifference(heads[head], plain[head]) < bound))
      state.SkipWithError("differs from the plain network");
  }
}
// In half precision only where the processor has the arithmetic.
void AddNetworks(benchmark::internal::Benchmark* benchmark) {
  for (const auto& [network, threads, heads] :
       {std::tuple(0, 1, kAllHeads), {1, 1, kAllHeads}, {1, 1, 1}, {0, 2, kAllHeads}, {1, 2, kAllHeads}})
    for (int half = 0; half <= (HalfArithmetic() != nullptr ? 1 : 0); ++half)
      benchmark->Args({network, threads, heads, half});
}
BENCHMARK(BM_Network)->Apply(AddNetworks)->Unit(benchmark::kMillisecond)->UseRealTime()->MinTime(2.0);

// 256 pixels of one frame against all of another and back.
void BM_Matching(benchmark::State& state) {
  Random random(1);
  Image<float> a(80, 64, 16);
  for (size_t i = 0; i < a.Size(); ++i) a.Data()[i] = static_cast<float>(random.Normal());
  const Mask mask(80, 64, 1, 255);
  const auto keypoints = SampleKeypoints(mask, 256, 1);
  const DescriptorIndex index(a, mask);
  MatchSet set;
  double best = 1e300;
  for (auto _ : state) {
    const Stopwatch watch;
    set = MatchDescriptors({a, &index}, keypoints, {a, &index});
    best = std::min(best, watch.ElapsedMs());
  }
  state.counters["best_ms"] = best;
  const bool right = set.matches.size() == 256 &&
                     std::all_of(set.matches.begin(), set.matches.end(), [](const Match& match) {
                       return match.source.cast<double>() == match.target;
                     });
  if (!right) state.SkipWithError("a frame does not match itself");
}
BENCHMARK(BM_Matching)->Unit(benchmark::kMillisecond)->UseRealTime();

// The products of Winograd's transform on data that stays in the first cache, in single and half precision.
template <typename T>
void RunKernel(const Arithmetic<T>& arithmetic, benchmark::State& state) {
  constexpr int kCount = 128, kColumns = 48;
  const auto channels = static_cast<size_t>(arithmetic.product.channels);
  const auto filled = [&](size_t count, float value) {
    const std::vector<float> wide(count, value);
    std::vector<T> numbers(count);
    arithmetic.narrow(wide.data(), static_cast<int>(count), numbers.data());
    return numbers;
  };
  const std::vector<T> weights = filled(channels * kCount, 0.5F), rows = filled(kCount * kColumns, 2.0F);
  std::vector<T> out(channels * kColumns);
  for (auto _ : state) {
    arithmetic.multiply(weights.data(), rows.data(), kColumns, kCount, kColumns, out.data(), kColumns);
    benchmark::DoNotOptimize(out);
  }
  std::vector<float> sums(out.size());
  arithmetic.widen(out.data(), static_cast<int>(out.size()), sums.data());
  if (std::any_of(sums.begin(), sums.end(), [](float value) { return value != kCount; }))
    state.SkipWithError("wrong sum");
  state.SetLabel(arithmetic.name);
  state.counters["GFLOP/s"] = benchmark::Counter(2e-9 * static_cast<double>(channels) * kColumns * kCount,
                                                 benchmark::Counter::kIsIterationInvariantRate);
}
void BM_FloatKernel(benchmark::State& state) { RunKernel(FloatArithmetic(), state); }
BENCHMARK(BM_FloatKernel);
void BM_HalfKernel(benchmark::State& state) {
  RunKernel(HalfArithmetic() != nullptr ? *HalfArithmetic() : PlainHalfArithmetic(), state);
}
BENCHMARK(BM_HalfKernel);

}  // namespace
}  // namespace lumen

BENCHMARK_MAIN();
