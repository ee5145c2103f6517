#include "lumen/network/winograd.h"

#include <algorithm>

#include "lumen/image/float4.h"

namespace lumen {

namespace {

// The interpolation points are 0, 1, −1, 1/2, −2 and infinity. The usual ±1, ±2 need fewer operations
// but lose twice as many digits; row j of Bᵀ holds the coefficients of Π (x − a_k), k ≠ j.

// Bᵀ d for six values, or six vectors of values.
template <typename T>
inline void InputTransform(const T (&d)[6], T (&t)[6]) {
  const T a = d[4] - d[2];
  const T b = d[3] - d[1];
  t[0] = d[0] + a - d[2] + b * 1.5F;
  t[1] = d[4] - d[1] + d[3] * 2.5F + d[2] * 0.5F;
  t[2] = d[4] + d[1] + d[3] * 0.5F - d[2] * 2.5F;
  t[3] = a + b * 2.0F;
  t[4] = a - b * 0.5F;
  t[5] = d[5] + d[1] - d[3] * 2.0F + a * 1.5F;
}

// Aᵀ m for six values: row i holds a_k^i.
template <typename T>
inline void OutputTransform(const T (&m)[6], T (&o)[4]) {
  const T a = m[1] + m[2];
  const T b = m[1] - m[2];
  o[0] = m[0] + a + m[3] + m[4];
  o[1] = b + m[3] * 0.5F - m[4] * 2.0F;
  o[2] = a + m[3] * 0.25F + m[4] * 4.0F;
  o[3] = b + m[3] * 0.125F - m[4] * 8.0F + m[5];
}

// G: row j is (1, a_j, a_j²) / Π (a_j − a_k).
constexpr double kG[6][3] = {{1, 0, 0},
                             {1.0 / 3, 1.0 / 3, 1.0 / 3},
                             {-1.0 / 3, 1.0 / 3, -1.0 / 3},
                             {-16.0 / 15, -8.0 / 15, -4.0 / 15},
                             {1.0 / 15, -2.0 / 15, 4.0 / 15},
                             {0, 0, 1}};

// Bᵀ down four columns of six rows.
inline void TransformColumns(const float* p, ptrdiff_t row_stride, Float4 (&t)[6]) {
  Float4 d[6];
#pragma GCC unroll 6
  for (int i = 0; i < 6; ++i) d[i] = Load4(p + i * row_stride);
  InputTransform(d, t);
}

// The outputs of four neighbouring tiles, four columns a vector: raw[row][tile].
inline void TransformFourTiles(const float* m, ptrdiff_t position_stride, Float4 (&raw)[4][4]) {
  Float4 down[6][4];
#pragma GCC unroll 6
  for (int j = 0; j < 6; ++j) {
    Float4 v[6];
#pragma GCC unroll 6
    for (int i = 0; i < 6; ++i) v[i] = Load4(m + (6 * i + j) * position_stride);
    OutputTransform(v, down[j]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const Float4 v[6] = {down[0][i], down[1][i], down[2][i], down[3][i], down[4][i], down[5][i]};
    OutputTransform(v, raw[i]);
    Transpose4(raw[i][0], raw[i][1], raw[i][2], raw[i][3]);
  }
}

template <bool kSums>
LaneSums EmitTiles(const float* m, ptrdiff_t position_stride, int width, int rows, const Epilogue to) {
  LaneSums sums;
  Float4 raw[4][4];
  int x = 0;
  for (; x + 16 <= width && rows == 4; x += 16) {
    TransformFourTiles(m + x / 4, position_stride, raw);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) EmitFour<kSums>(raw[i][k], to, i * to.stride + x + 4 * k, sums);
    }
  }
  for (; x < width; x += 16) {  // what does not fill four tiles
    TransformFourTiles(m + x / 4, position_stride, raw);
    float cells[4][16];
    for (int i = 0; i < rows; ++i) {
      for (int k = 0; k < 4; ++k) Store4(cells[i] + 4 * k, raw[i][k]);
      EmitRun<kSums>(cells[i], std::min(16, width - x), to, i * to.stride + x, sums);
    }
  }
  return sums;
}

}  // namespace

void TransformFilter(const float* g, float* u) {
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j) {
      double sum = 0;
      for (int a = 0; a < 3; ++a) {
        for (int b = 0; b < 3; ++b) sum += kG[i][a] * g[3 * a + b] * kG[j][b];
      }
      u[6 * i + j] = static_cast<float>(sum);
    }
  }
}

void TransformInputRow(const float* row, ptrdiff_t row_stride, int tiles, float* out,
                       ptrdiff_t position_stride) {
  Float4 columns[5][6];  // sixteen columns and the four behind them, transformed downwards
  TransformColumns(row, row_stride, columns[4]);
  for (int tile = 0; tile < tiles; tile += 4) {
#pragma GCC unroll 6
    for (int i = 0; i < 6; ++i) columns[0][i] = columns[4][i];
#pragma GCC unroll 4
    for (int k = 1; k < 5; ++k) TransformColumns(row + 4 * (tile + k), row_stride, columns[k]);
#pragma GCC unroll 6
    for (int i = 0; i < 6; ++i) {
      Float4 d[6] = {columns[0][i], columns[1][i], columns[2][i], columns[3][i]}, t[6];
      Transpose4(d[0], d[1], d[2], d[3]);
      // A tile's last two columns are the first two of its right neighbour.
      d[4] = __builtin_shufflevector(d[0], columns[4][i], 1, 2, 3, 4);
      d[5] = __builtin_shufflevector(d[1], columns[4][i], 1, 2, 3, 5);
      InputTransform(d, t);
#pragma GCC unroll 6
      for (int j = 0; j < 6; ++j) Store4(out + (6 * i + j) * position_stride + tile, t[j]);
    }
  }
}

void TransformOutputRow(const float* m, ptrdiff_t position_stride, int width, int rows, const Epilogue& to,
                        ChannelSums* sums) {
  if (sums == nullptr)
    EmitTiles<false>(m, position_stride, width, rows, to);
  else
    EmitTiles<true>(m, position_stride, width, rows, to).AddTo(*sums);
}

}  // namespace lumen
