#include "lumen/base/random.h"

#include <cmath>

#include "lumen/base/error.h"

namespace lumen {

Random Random::Split(std::string_view name) const {
  uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return Split(hash);
}

Random Random::Split(uint64_t index) const { return Random(state_ ^ MixBits(index + 0xd1b54a32d192ed03ULL)); }

uint64_t Random::NextBits() { return MixBits(state_ + 0x9e3779b97f4a7c15ULL * ++counter_); }

int64_t Random::UniformInt(int64_t low, int64_t high) {
  LUMEN_CHECK(low <= high, low, " > ", high);
  const uint64_t span = static_cast<uint64_t>(high - low) + 1;
  if (span == 0) return static_cast<int64_t>(NextBits());
  // Rejection keeps it exactly uniform.
  const uint64_t limit = span * (UINT64_MAX / span);
  uint64_t bits = NextBits();
  while (bits >= limit) bits = NextBits();
  return low + static_cast<int64_t>(bits % span);
}

double Random::Normal() {
  // Box–Muller; the second value is dropped, so that the stream has no hidden state.
  const double u = 1.0 - Uniform();
  const double v = Uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * M_PI * v);
}

}  // namespace lumen
