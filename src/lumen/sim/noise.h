// Smooth random functions: over space (for shapes and tissue) and over time (for a hand's motion). All
// are pure functions of their seed, cheap enough to be evaluated per pixel.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace lumen {

// Value noise in [-1, 1] with one lattice cell per unit, repeating every 32 units. The interpolant is a
// quintic, so its gradient is smooth as well.
class NoiseVolume {
 public:
  explicit NoiseVolume(uint64_t seed);

  float Value(const Eigen::Vector3f& p) const;
  float Value(const Eigen::Vector3f& p, Eigen::Vector3f* gradient) const;

 private:
  static constexpr int kSize = 32;
  static constexpr int kMask = kSize - 1;
  std::vector<float> lattice_;
};

// Band-limited noise over one variable (time in seconds, arc length in mm): a sum of sinusoids whose
// frequencies are drawn from [low, high], with standard deviation 1.
class NoiseSignal {
 public:
  NoiseSignal(uint64_t seed, double low_frequency, double high_frequency);
  double Value(double t) const;

 private:
  struct Wave {
    double angular_frequency, phase, amplitude;
  };
  std::vector<Wave> waves_;
};

// A hash of up to three integers to [0, 1): noise with no memory, for sensor grain.
inline uint32_t HashBits(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352dU;
  x = (x ^ (x >> 15)) * 0x846ca68bU;
  return x ^ (x >> 16);
}
inline uint32_t HashBits(uint32_t a, uint32_t b) { return HashBits(a ^ (HashBits(b) + 0x9e3779b9U)); }
inline float HashUnit(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1.0p-24F; }

// 0 below `low`, 1 above `high`, smooth between.
inline float SmoothStep(float low, float high, float x) {
  const float t = std::min(1.0F, std::max(0.0F, (x - low) / (high - low)));
  return t * t * (3.0F - 2.0F * t);
}

// Minimum of two distances with the crease rounded off over the width k (and the maximum likewise).
inline float SmoothMin(float a, float b, float k) {
  const float h = std::max(k - std::abs(a - b), 0.0F) / k;
  return std::min(a, b) - 0.25F * k * h * h;
}
inline float SmoothMax(float a, float b, float k) { return -SmoothMin(-a, -b, k); }

}  // namespace lumen
