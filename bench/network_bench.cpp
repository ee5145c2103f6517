#include <benchmark/benchmark.h>
#include "lumen/network/engine.h"
#include "lumen/network/weights.h"
namespace lumen {
namespace {
void BM_Net(benchmark::State& state) {
  const NetworkSpec spec = state.range(0) == 0 ? MakeFeatureSpec() : MakeDepthSpec();
  const auto tensors = MakeRandomTensors(spec, 1);
  NetworkEngine engine(spec, tensors, Mask(160, 128, 1, 255), {.threads = static_cast<int>(state.range(1))});
  const RgbImage image(160, 128, 3, 100);
  for (auto _ : state) {
    engine.RunTrunk(image);
    if (state.range(2) & 1) benchmark::DoNotOptimize(engine.RunHead(0));
    if (state.range(2) & 2) benchmark::DoNotOptimize(engine.RunHead(1));
  }
}
BENCHMARK(BM_Net)->Args({0,1,3})->Args({1,1,3})->Args({0,1,0})->Args({1,1,1})->Args({0,2,3})->Args({1,2,3})->Unit(benchmark::kMillisecond)->UseRealTime();
}
}
BENCHMARK_MAIN();
