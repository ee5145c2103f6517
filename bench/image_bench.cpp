// Image kernels on one core; each checks its result after the timed loop.
#include <benchmark/benchmark.h>

#include <cmath>

#include "lumen/base/random.h"
#include "lumen/image/pyramid.h"
#include "lumen/image/resize.h"
#include "lumen/image/sample.h"
#include "lumen/io/rectifier.h"

namespace lumen {
namespace {

Image<float> AffineFeatures(int width, int height, int channels) {
  Image<float> image(width, height, channels);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) image(x, y, c) = static_cast<float>(0.1 * x - 0.05 * y + c);
    }
  }
  return image;
}

void BM_SampleBilinear(benchmark::State& state) {
  const Image<float> image = AffineFeatures(80, 64, 48);
  Random random(1);
  std::vector<Eigen::Vector2d> places;
  for (int i = 0; i < 5120; ++i) places.push_back({random.Uniform(0, 79), random.Uniform(0, 63)});
  float values[48];
  for (auto _ : state) {
    for (const auto& uv : places) {
      SampleBilinear(image, uv.x(), uv.y(), values);
      benchmark::DoNotOptimize(values);
    }
  }
  SampleBilinear(image, 10.25, 20.5, values);
  if (std::abs(values[3] - (1.025 - 1.025 + 3)) > 1e-4) state.SkipWithError("wrong value");
  state.SetItemsProcessed(state.iterations() * 5120);
}
BENCHMARK(BM_SampleBilinear)->Unit(benchmark::kMicrosecond);

void BM_FeaturePyramid(benchmark::State& state) {
  const Mask mask(80, 64, 1, 255);
  std::vector<Image<float>> levels;
  for (auto _ : state) {
    levels = MakeMaskedPyramid(AffineFeatures(80, 64, 16), mask, 4);
    for (Image<float>& level : levels)
      level = InterleaveGradients(level, Mask(level.Width(), level.Height(), 1, 255));
    benchmark::DoNotOptimize(levels);
  }
  if (std::abs(levels[0](40, 32, 16) - 0.1F) > 1e-5) state.SkipWithError("wrong gradient");
}
BENCHMARK(BM_FeaturePyramid)->Unit(benchmark::kMicrosecond);

// A full-HD frame of a distorted endoscope to network size; the plain area resize (no undistortion) beside
// it.
void BM_RectifyFullHd(benchmark::State& state) {
  const Camera camera(RadTanCamera{{677, 677, 872, 472}, {-0.2, 0.03, 0, 0, 0}}, 1920, 1080);
  Mask mask(1920, 1080);
  for (int y = 0; y < 1080; ++y) {
    for (int x = 0; x < 1920; ++x) mask(x, y) = std::hypot(x - 1000, y - 545) < 500 ? 255 : 0;
  }
  const Rectifier rectifier(camera, mask);
  RgbImage frame(1920, 1080, 3);
  for (int y = 0; y < 1080; ++y) {
    for (int x = 0; x < 1920; ++x) frame(x, y, 0) = static_cast<uint8_t>(x / 8);
  }
  RgbImage out;
  for (auto _ : state) {
    out = rectifier.Apply(frame);
    benchmark::DoNotOptimize(out);
  }
  const auto uv = camera.Project(*rectifier.TargetCamera().Unproject({80, 64}));
  if (std::abs(out(80, 64, 0) - uv->x() / 8) > 1.5) state.SkipWithError("wrong pixel");
}
BENCHMARK(BM_RectifyFullHd)->Unit(benchmark::kMillisecond);

void BM_ResizeFullHd(benchmark::State& state) {
  const RgbImage frame(1920, 1080, 3, 77);
  RgbImage out;
  for (auto _ : state) {
    out = ResizeArea(frame, 160, 128);
    benchmark::DoNotOptimize(out);
  }
  if (out(3, 3, 1) != 77) state.SkipWithError("wrong pixel");
}
BENCHMARK(BM_ResizeFullHd)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lumen

BENCHMARK_MAIN();
