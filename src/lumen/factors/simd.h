// Four floats at once, by the compiler's vector extension: one source for NEON and SSE. For the tuned
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

// {Σa, Σb, Σc, Σd}
inline Float4 SumFour(Float4 a, Float4 b, Float4 c, Float4 d) {
  const Float4 ab = __builtin_shufflevector(a, b, 0, 2, 4, 6) + __builtin_shufflevector(a, b, 1, 3, 5, 7);
  const Float4 cd = __builtin_shufflevector(c, d, 0, 2, 4, 6) + __builtin_shufflevector(c, d, 1, 3, 5, 7);
  return __builtin_shufflevector(ab, cd, 0, 2, 4, 6) + __builtin_shufflevector(ab, cd, 1, 3, 5, 7);
}

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

// Columns of four samples, written as four rows of eight.
inline void StoreRows(Float4* columns, float* rows, int stride) {
  for (int half = 0; half < 8; half += 4) {
    Float4* c = columns + half;
    Transpose4(c[0], c[1], c[2], c[3]);
    for (int k = 0; k < 4; ++k) Store4(rows + k * stride + half, c[k]);
  }
}

// H += Σ r rᵀ over rows of kWidth floats (a multiple of 8), into the lower 8×8 tiles of a column-major
// kWidth × kWidth matrix of doubles. Sums run in float over the rows given, so give few at a time.
template <int kWidth>
void AddOuterProducts(const float* rows, int count, double* H) {
  for (int i = 0; i < kWidth; i += 8) {
    for (int j = 0; j <= i; j += 8) {
      Float4 sum[8][2] = {};
      for (int n = 0; n < count; ++n) {
        const float* row = rows + n * kWidth;
        const Float4 left[2] = {Load4(row + i), Load4(row + i + 4)};
        const Float4 right[2] = {Load4(row + j), Load4(row + j + 4)};
#pragma GCC unroll 8
        for (int k = 0; k < 8; ++k) {
          sum[k][0] += right[k / 4][k % 4] * left[0];
          sum[k][1] += right[k / 4][k % 4] * left[1];
        }
      }
      for (int k = 0; k < 8; ++k) {
        for (int m = 0; m < 8; ++m) {
          H[(j + k) * kWidth + i + m] += static_cast<double>(sum[k][m / 4][m % 4]);
        }
      }
    }
  }
}

}  // namespace lumen
