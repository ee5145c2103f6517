// Seeded random streams that give the same numbers on every platform: the standard library's
// distributions do not promise that. A stream can be split by name or number, so that each user of
// randomness has its own and adding one does not disturb the others.
#pragma once

#include <cstdint>
#include <string_view>

namespace lumen {

// SplitMix64's finaliser: a good 64-bit hash of a 64-bit number.
constexpr uint64_t MixBits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

class Random {
 public:
  explicit Random(uint64_t seed) : state_(MixBits(seed + 0x9e3779b97f4a7c15ULL)) {}

  // An independent stream; depends on this stream's seed and the name only, not on how many numbers were
  // drawn.
  Random Split(std::string_view name) const;
  Random Split(uint64_t index) const;

  uint64_t NextBits();
  double Uniform() { return static_cast<double>(NextBits() >> 11) * 0x1.0p-53; }  // [0, 1)
  double Uniform(double low, double high) { return low + (high - low) * Uniform(); }
  int64_t UniformInt(int64_t low, int64_t high);  // both ends included
  double Normal();
  double Normal(double mean, double sigma) { return mean + sigma * Normal(); }
  bool Chance(double probability) { return Uniform() < probability; }

  // Shuffles in place (Fisher–Yates).
  template <typename Container>
  void Shuffle(Container& items) {
    for (int64_t i = static_cast<int64_t>(items.size()) - 1; i > 0; --i) {
      using std::swap;
      swap(items[static_cast<size_t>(i)], items[static_cast<size_t>(UniformInt(0, i))]);
    }
  }

 private:
  uint64_t state_;
  uint64_t counter_ = 0;
};

}  // namespace lumen
