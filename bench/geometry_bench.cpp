// Robust registration: time on one core, and how many outliers each setting survives.
#include <benchmark/benchmark.h>

#include "lumen/geometry/registration_problem.h"

namespace lumen {
namespace {

// Arguments: outliers in per cent, setting.
void BM_Registration(benchmark::State& state) {
  const double share = static_cast<double>(state.range(0)) / 100;
  RegistrationOptions options;
  if (state.range(1) == 1) options.rotation_strides = 16;
  if (state.range(1) == 2) options = RegistrationOptions::ForManyOutliers();
  std::vector<RegistrationProblem> problems;
  for (uint64_t seed = 0; seed < 100; ++seed) problems.push_back(MakeRegistrationProblem(256, share, seed));
  size_t next = 0;
  for (auto _ : state) {
    const RegistrationProblem& problem = problems[next++ % problems.size()];
    benchmark::DoNotOptimize(EstimateRegistration(problem.a, problem.b, problem.bounds, options));
  }
  int right = 0;
  for (const RegistrationProblem& problem : problems) {
    right += IsRight(problem, EstimateRegistration(problem.a, problem.b, problem.bounds, options)) ? 1 : 0;
  }
  state.counters["right_of_100"] = right;
  state.SetLabel(state.range(1) == 0 ? "chain" : state.range(1) == 1 ? "denser graph" : "clique");
  if (share <= 0.5 && right < 99) state.SkipWithError("wrong results at 50 % outliers");
}
BENCHMARK(BM_Registration)
    ->ArgsProduct({{50, 60, 70, 80, 85, 90, 95}, {0, 1, 2}})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lumen

BENCHMARK_MAIN();
