// Robust registration: time on one core, and how many outliers each setting survives. And what a projection
// costs by the closed forms that a view's camera might have.
#include <benchmark/benchmark.h>

#include <cmath>

#include "lumen/base/random.h"
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

// What x and y are divided by. The parameters are those with which pixels per angle are most even up to 80°.
double Pinhole(double /*r2*/, double z) { return z; }
double Unified(double r2, double z) { return 0.62 * std::sqrt(r2 + z * z) + 0.38 * z; }
double EnhancedUnified(double r2, double z) { return 0.6 * std::sqrt(1.12 * r2 + z * z) + 0.4 * z; }
double DoubleSphere(double r2, double z) {
  const double forward = 0.57 * std::sqrt(r2 + z * z) + z;
  return 0.74 * std::sqrt(r2 + forward * forward) + 0.26 * forward;
}

template <double (*kDivisor)(double, double)>
void BM_Projection(benchmark::State& state) {
  constexpr size_t kPoints = 5120;
  Random random(1);
  std::vector<double> x(kPoints), y(kPoints), z(kPoints), u(kPoints), v(kPoints);
  for (size_t i = 0; i < kPoints; ++i) {
    x[i] = random.Uniform(-1, 1);
    y[i] = random.Uniform(-1, 1);
    z[i] = random.Uniform(0.3, 2);
  }
  for (auto _ : state) {
    for (size_t i = 0; i < kPoints; ++i) {
      const double inverse = 1 / kDivisor(x[i] * x[i] + y[i] * y[i], z[i]);
      u[i] = 40 * x[i] * inverse + 39.5;
      v[i] = 40 * y[i] * inverse + 31.5;
    }
    benchmark::DoNotOptimize(u.data());
    benchmark::DoNotOptimize(v.data());
    benchmark::ClobberMemory();
  }
  if (!(std::abs(u[0]) < 1e6)) state.SkipWithError("a point far outside");
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kPoints));
}
BENCHMARK(BM_Projection<Pinhole>)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_Projection<Unified>)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_Projection<EnhancedUnified>)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_Projection<DoubleSphere>)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace lumen

BENCHMARK_MAIN();
