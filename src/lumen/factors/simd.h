// What the tuned kernels of the dense factors do with four floats at a time.
#pragma once

#include "lumen/image/float4.h"

namespace lumen {

// {Σa, Σb, Σc, Σd}
inline Float4 SumFour(Float4 a, Float4 b, Float4 c, Float4 d) {
  const Float4 ab = __builtin_shufflevector(a, b, 0, 2, 4, 6) + __builtin_shufflevector(a, b, 1, 3, 5, 7);
  const Float4 cd = __builtin_shufflevector(c, d, 0, 2, 4, 6) + __builtin_shufflevector(c, d, 1, 3, 5, 7);
  return __builtin_shufflevector(ab, cd, 0, 2, 4, 6) + __builtin_shufflevector(ab, cd, 1, 3, 5, 7);
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
