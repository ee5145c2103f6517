#include "lumen/sim/noise.h"

#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/random.h"

namespace lumen {

namespace {

constexpr int kWaves = 12;  // sinusoids in a signal

struct Quintic {
  float value, slope;
};

Quintic Fade(float t) {
  return {t * t * t * (t * (t * 6.0F - 15.0F) + 10.0F), 30.0F * t * t * (t - 1.0F) * (t - 1.0F)};
}

float Mix(float a, float b, float t) { return a + t * (b - a); }

}  // namespace

NoiseVolume::NoiseVolume(uint64_t seed) : lattice_(static_cast<size_t>(kSize) * kSize * kSize) {
  Random random(seed);
  for (float& value : lattice_) value = static_cast<float>(random.Uniform(-1.0, 1.0));
}

float NoiseVolume::Value(const Eigen::Vector3f& p) const { return Value(p, nullptr); }

float NoiseVolume::Value(const Eigen::Vector3f& p, Eigen::Vector3f* gradient) const {
  const Eigen::Vector3f floor(std::floor(p.x()), std::floor(p.y()), std::floor(p.z()));
  const Quintic u = Fade(p.x() - floor.x());
  const Quintic v = Fade(p.y() - floor.y());
  const Quintic w = Fade(p.z() - floor.z());
  const int x0 = static_cast<int>(floor.x()) & kMask;
  const int y0 = static_cast<int>(floor.y()) & kMask;
  const int z0 = static_cast<int>(floor.z()) & kMask;
  const int x1 = (x0 + 1) & kMask;
  const int y1 = (y0 + 1) & kMask;
  const int z1 = (z0 + 1) & kMask;
  const auto row = [&](int y, int z) { return lattice_.data() + (z * kSize + y) * kSize; };
  const float* const row00 = row(y0, z0);
  const float* const row10 = row(y1, z0);
  const float* const row01 = row(y0, z1);
  const float* const row11 = row(y1, z1);
  const float along00 = Mix(row00[x0], row00[x1], u.value);
  const float along10 = Mix(row10[x0], row10[x1], u.value);
  const float along01 = Mix(row01[x0], row01[x1], u.value);
  const float along11 = Mix(row11[x0], row11[x1], u.value);
  const float low = Mix(along00, along10, v.value);
  const float high = Mix(along01, along11, v.value);
  if (gradient != nullptr) {
    const float slope_low = Mix(row00[x1] - row00[x0], row10[x1] - row10[x0], v.value);
    const float slope_high = Mix(row01[x1] - row01[x0], row11[x1] - row11[x0], v.value);
    *gradient = {u.slope * Mix(slope_low, slope_high, w.value),
                 v.slope * Mix(along10 - along00, along11 - along01, w.value), w.slope * (high - low)};
  }
  return Mix(low, high, w.value);
}

NoiseSignal::NoiseSignal(uint64_t seed, double low_frequency, double high_frequency) {
  LUMEN_CHECK(low_frequency > 0 && high_frequency >= low_frequency, low_frequency, " … ", high_frequency);
  Random random(seed);
  for (int i = 0; i < kWaves; ++i) {
    // Frequencies evenly spread on a log scale, jittered, so that the sum never nearly repeats.
    const double share = (i + random.Uniform()) / kWaves;
    const double frequency = low_frequency * std::pow(high_frequency / low_frequency, share);
    waves_.push_back({2 * M_PI * frequency, random.Uniform(0, 2 * M_PI), std::sqrt(2.0 / kWaves)});
  }
}

double NoiseSignal::Value(double t) const {
  double sum = 0;
  for (const Wave& wave : waves_) sum += wave.amplitude * std::sin(wave.angular_frequency * t + wave.phase);
  return sum;
}

}  // namespace lumen
