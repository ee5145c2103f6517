#include "lumen/network/winograd.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

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

// Columns 4t + i of four neighbouring tiles, i = 0 … 3.
inline void LoadStride4(const float* p, Float4 (&v)[4]) {
#if defined(__aarch64__)
  const float32x4x4_t loaded = vld4q_f32(p);
  for (int i = 0; i < 4; ++i) v[i] = loaded.val[i];
#else
  const Float4 a = LoadFloat4(p), b = LoadFloat4(p + 4), c = LoadFloat4(p + 8), d = LoadFloat4(p + 12);
  const Float4 ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5),
               ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Float4 cd0 = __builtin_shufflevector(c, d, 0, 4, 1, 5),
               cd1 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  v[0] = __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5);
  v[1] = __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7);
  v[2] = __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5);
  v[3] = __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7);
#endif
}

// The last three lanes of a, then the first of b.
inline Float4 ShiftIn(Float4 a, Float4 b) { return __builtin_shufflevector(a, b, 1, 2, 3, 4); }

inline void StoreStride4(float* p, const Float4 (&v)[4]) {
#if defined(__aarch64__)
  const float32x4x4_t stored = {{v[0], v[1], v[2], v[3]}};
  vst4q_f32(p, stored);
#else
  const Float4 ab0 = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5),
               ab1 = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7);
  const Float4 cd0 = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5),
               cd1 = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
  StoreFloat4(p, __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5));
  StoreFloat4(p + 4, __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7));
  StoreFloat4(p + 8, __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5));
  StoreFloat4(p + 12, __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7));
#endif
}

}  // namespace

void TransformFilter(const float* g, float* u) {
  // Row j is (1, a_j, a_j²) / Π (a_j − a_k).
  static constexpr double kG[6][3] = {{1, 0, 0},
                                      {1.0 / 3, 1.0 / 3, 1.0 / 3},
                                      {-1.0 / 3, 1.0 / 3, -1.0 / 3},
                                      {-16.0 / 15, -8.0 / 15, -4.0 / 15},
                                      {1.0 / 15, -2.0 / 15, 4.0 / 15},
                                      {0, 0, 1}};
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
                       ptrdiff_t position_stride, float* scratch) {
  // Down the columns first, on contiguous memory.
  const int width = 4 * tiles + 2;
  const ptrdiff_t line = 4 * static_cast<ptrdiff_t>(tiles) + 24;
  for (int x = 0; x < width; x += 4) {
    Float4 d[6], t[6];
    for (int i = 0; i < 6; ++i) d[i] = LoadFloat4(row + i * row_stride + x);
    InputTransform(d, t);
    for (int i = 0; i < 6; ++i) StoreFloat4(scratch + i * line + x, t[i]);
  }
  // Then along the rows, four tiles at a time.
  for (int i = 0; i < 6; ++i) {
    const float* p = scratch + i * line;
    float* o = out + 6 * i * position_stride;
    int tile = 0;
    Float4 now[4], next[4], t[6];
    if (tiles >= 4) LoadStride4(p, now);
    for (; tile + 4 <= tiles; tile += 4) {
      // A tile's last two columns are the first two of its right neighbour.
      LoadStride4(p + 4 * tile + 16, next);
      const Float4 d[6] = {
          now[0], now[1], now[2], now[3], ShiftIn(now[0], next[0]), ShiftIn(now[1], next[1])};
      InputTransform(d, t);
      for (int j = 0; j < 6; ++j) StoreFloat4(o + j * position_stride + tile, t[j]);
      for (int j = 0; j < 4; ++j) now[j] = next[j];
    }
    for (; tile < tiles; ++tile) {
      float d[6], u[6];
      for (int j = 0; j < 6; ++j) d[j] = p[4 * tile + j];
      InputTransform(d, u);
      for (int j = 0; j < 6; ++j) o[j * position_stride + tile] = u[j];
    }
  }
}

void TransformOutputRow(const float* m, ptrdiff_t position_stride, int tiles, float* out,
                        ptrdiff_t out_stride, float* scratch) {
  const ptrdiff_t line = 4 * static_cast<ptrdiff_t>(tiles) + 24;
  for (int i = 0; i < 6; ++i) {
    const float* p = m + 6 * i * position_stride;
    float* o = scratch + i * line;
    int tile = 0;
    for (; tile + 4 <= tiles; tile += 4) {
      Float4 v[6], t[4];
      for (int j = 0; j < 6; ++j) v[j] = LoadFloat4(p + j * position_stride + tile);
      OutputTransform(v, t);
      StoreStride4(o + 4 * tile, t);
    }
    for (; tile < tiles; ++tile) {
      float v[6], t[4];
      for (int j = 0; j < 6; ++j) v[j] = p[j * position_stride + tile];
      OutputTransform(v, t);
      for (int j = 0; j < 4; ++j) o[4 * tile + j] = t[j];
    }
  }
  for (int x = 0; x < 4 * tiles; x += 4) {
    Float4 v[6], t[4];
    for (int i = 0; i < 6; ++i) v[i] = LoadFloat4(scratch + i * line + x);
    OutputTransform(v, t);
    for (int i = 0; i < 4; ++i) StoreFloat4(out + i * out_stride + x, t[i]);
  }
}

}  // namespace lumen
