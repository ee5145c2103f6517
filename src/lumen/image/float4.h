// Four floats at a time, in the compiler's own vector type: one source for NEON and SSE. For the tuned
// kernels only.
#pragma once

#include <cstring>

namespace lumen {

using Float4 = float __attribute__((vector_size(16)));

inline Float4 Load4(const float* p) {
  Float4 v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}
inline void Store4(float* p, Float4 v) { std::memcpy(p, &v, sizeof(v)); }
inline Float4 Splat4(float x) { return Float4{x, x, x, x}; }
inline float Sum4(Float4 v) { return (v[0] + v[1]) + (v[2] + v[3]); }
inline Float4 Max4(Float4 a, Float4 b) { return a > b ? a : b; }
inline Float4 Min4(Float4 a, Float4 b) { return a < b ? a : b; }

// Turns four columns into four rows.
inline void Transpose4(Float4& a, Float4& b, Float4& c, Float4& d) {
  const Float4 ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const Float4 ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Float4 cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const Float4 cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  a = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
  b = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
  c = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
  d = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

}  // namespace lumen
