// Fusion and registration: seconds of one core, at sizes a patient's data has.
#include <benchmark/benchmark.h>

#include "lumen/surface/surface_registration.h"
#include "lumen/surface/surface_world_test.h"

namespace lumen {
namespace {

constexpr int kStride = 3;
const Sim3 kMapFromWorld(0.04, ExpSO3({1, 0.5, -0.7}), {3, -2, 1});

const SimulatedSequence& Colon() {
  static const SimulatedSequence sequence(SmallSequence(AnatomyKind::kColon, 3, 300));
  return sequence;
}

void BM_Fusion(benchmark::State& state) {
  const ViewList views = TrueViews(Colon(), kStride, kMapFromWorld);
  std::vector<DepthView> loaded;
  for (int i = 0; i < views.count; ++i) loaded.push_back(views.load(i));
  const ViewList ready{views.count, [&](int i) { return loaded[static_cast<size_t>(i)]; }};
  FusionResult result;
  for (auto _ : state) result = FuseViews(ready, {}, 1);
  state.counters["views"] = views.count;
  state.counters["MB"] = static_cast<double>(result.memory_bytes) / 1e6;
}
BENCHMARK(BM_Fusion)->Unit(benchmark::kSecond)->Iterations(1);

// Argument: 1 from a guess, 0 from nothing.
void BM_Registration(benchmark::State& state) {
  FusionOptions fine;
  fine.voxel_factor = 0.7;
  const TriangleMesh surface = FuseViews(TrueViews(Colon(), kStride, kMapFromWorld), fine, 1).mesh;
  const TriangleMesh model = Colon().Surface();
  const Sim3 truth = kMapFromWorld.Inverse();
  const Vector7d off = (Vector7d() << 8, -8, 8, 0.2, 0.2, -0.2, 0.26).finished();
  const std::optional<Sim3> guess =
      state.range(0) == 1 ? std::optional(Sim3::Exp(off) * truth) : std::nullopt;
  SurfaceRegistration result;
  for (auto _ : state) result = RegisterSurface(surface, model, guess, {}, 1);
  state.counters["surface_triangles"] = static_cast<double>(surface.triangles.size());
  state.counters["model_triangles"] = static_cast<double>(model.triangles.size());
  const double error = (result.model_from_surface * kMapFromWorld.Translation()).norm();
  state.counters["error_mm"] = error;
  if (error > 1) state.SkipWithError("registered elsewhere");
}
BENCHMARK(BM_Registration)->Arg(1)->Arg(0)->Unit(benchmark::kSecond)->Iterations(1);

}  // namespace
}  // namespace lumen

BENCHMARK_MAIN();
