// The engine's loops over a type of vectors: `Lanes` says what a number and a vector of it are and how it is
// loaded, turned and summed. Included by one file per instruction set, each with its own flags; nothing here
// may be shared between them, hence the anonymous namespace.
#pragma once

#include "lumen/network/arithmetic.h"

namespace lumen {
namespace {

// Winograd's interpolation points are 0, ±2/3, ±3/2 and infinity. Row j of Bᵀ holds the coefficients of
// Π (x − a_k), k ≠ j; those of a point and its negative share their even and their odd part, and because the
// product of the two is 1 most of the rest are the points themselves.
constexpr float kSmall = 2.0F / 3.0F, kSmall2 = 4.0F / 9.0F, kSmall3 = 8.0F / 27.0F;
constexpr float kLarge = 1.5F, kLarge2 = 2.25F, kLarge3 = 3.375F;
constexpr float kBothSquares = kSmall2 + kLarge2;

template <typename Lanes>
struct Loops {
  using T = typename Lanes::Number;
  using Vector = typename Lanes::Vector;
  static constexpr int kLanes = Lanes::kLanes;

  // Bᵀ d.
  static inline void InputTransform(const Vector (&d)[6], Vector (&t)[6]) {
    const Vector sum = Lanes::Splat(kBothSquares);
    const Vector small = Lanes::Splat(kSmall), large = Lanes::Splat(kLarge);
    const Vector even_small = d[4] - Lanes::Splat(kLarge2) * d[2];
    const Vector odd_small = small * d[3] - large * d[1];
    const Vector even_large = d[4] - Lanes::Splat(kSmall2) * d[2];
    const Vector odd_large = large * d[3] - small * d[1];
    t[0] = (d[0] + d[4]) - sum * d[2];
    t[1] = even_small + odd_small;
    t[2] = even_small - odd_small;
    t[3] = even_large + odd_large;
    t[4] = even_large - odd_large;
    t[5] = (d[1] + d[5]) - sum * d[3];
  }

  // Aᵀ m: row i holds a_k^i.
  static inline void OutputTransform(const Vector (&m)[6], Vector (&o)[4]) {
    const Vector even_small = m[1] + m[2], odd_small = m[1] - m[2];
    const Vector even_large = m[3] + m[4], odd_large = m[3] - m[4];
    o[0] = (m[0] + even_small) + even_large;
    o[1] = Lanes::Splat(kSmall) * odd_small + Lanes::Splat(kLarge) * odd_large;
    o[2] = Lanes::Splat(kSmall2) * even_small + Lanes::Splat(kLarge2) * even_large;
    o[3] = (Lanes::Splat(kSmall3) * odd_small + m[5]) + Lanes::Splat(kLarge3) * odd_large;
  }

  // Four vectors of neighbouring columns → the columns of each tile, a tile a lane; and back.
  static inline void TilesFromColumns(Vector& a, Vector& b, Vector& c, Vector& d) {
    const Vector ab_even = Lanes::Even(a, b), ab_odd = Lanes::Odd(a, b);
    const Vector cd_even = Lanes::Even(c, d), cd_odd = Lanes::Odd(c, d);
    a = Lanes::Even(ab_even, cd_even);
    b = Lanes::Even(ab_odd, cd_odd);
    c = Lanes::Odd(ab_even, cd_even);
    d = Lanes::Odd(ab_odd, cd_odd);
  }
  static inline void ColumnsFromTiles(Vector& a, Vector& b, Vector& c, Vector& d) {
    const Vector ac_low = Lanes::ZipLow(a, c), ac_high = Lanes::ZipHigh(a, c);
    const Vector bd_low = Lanes::ZipLow(b, d), bd_high = Lanes::ZipHigh(b, d);
    a = Lanes::ZipLow(ac_low, bd_low);
    b = Lanes::ZipHigh(ac_low, bd_low);
    c = Lanes::ZipLow(ac_high, bd_high);
    d = Lanes::ZipHigh(ac_high, bd_high);
  }

  static inline void TransformColumns(const T* p, ptrdiff_t row_stride, Vector (&t)[6]) {
    Vector d[6];
#pragma GCC unroll 6
    for (int i = 0; i < 6; ++i) d[i] = Lanes::Load(p + i * row_stride);
    InputTransform(d, t);
  }

  static void TransformInput(const T* row, ptrdiff_t row_stride, int tiles, T* out,
                             ptrdiff_t position_stride) {
    Vector columns[5][6];  // of a vector's tiles and a little more, transformed downwards
    TransformColumns(row, row_stride, columns[4]);
    for (int tile = 0; tile < tiles; tile += kLanes) {
      const T* p = row + 4 * tile;
#pragma GCC unroll 6
      for (int i = 0; i < 6; ++i) columns[0][i] = columns[4][i];
#pragma GCC unroll 4
      for (int k = 1; k < 5; ++k) TransformColumns(p + k * kLanes, row_stride, columns[k]);
#pragma GCC unroll 6
      for (int i = 0; i < 6; ++i) {
        Vector d[6] = {columns[0][i], columns[1][i], columns[2][i], columns[3][i]}, t[6];
        TilesFromColumns(d[0], d[1], d[2], d[3]);
        // A tile's last two columns are the first two of its right neighbour.
        d[4] = Lanes::template Next<0>(d[0], columns[4][i]);
        d[5] = Lanes::template Next<1>(d[1], columns[4][i]);
        InputTransform(d, t);
#pragma GCC unroll 6
        for (int j = 0; j < 6; ++j) Lanes::Store(out + (6 * i + j) * position_stride + tile, t[j]);
      }
    }
  }

  // The outputs of a vector of tiles: raw[row][columns].
  static inline void TransformTiles(const T* m, ptrdiff_t position_stride, Vector (&raw)[4][4]) {
    Vector down[6][4];
#pragma GCC unroll 6
    for (int j = 0; j < 6; ++j) {
      Vector v[6];
#pragma GCC unroll 6
      for (int i = 0; i < 6; ++i) v[i] = Lanes::Load(m + (6 * i + j) * position_stride);
      OutputTransform(v, down[j]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const Vector v[6] = {down[0][i], down[1][i], down[2][i], down[3][i], down[4][i], down[5][i]};
      OutputTransform(v, raw[i]);
      ColumnsFromTiles(raw[i][0], raw[i][1], raw[i][2], raw[i][3]);
    }
  }

  template <bool kSums>
  static inline void EmitVector(Vector raw, const Epilogue<T>& to, Vector bias, ptrdiff_t at,
                                typename Lanes::Sums& sums) {
    Vector value = raw * Lanes::Load(to.scale + at) + bias * Lanes::Load(to.valid + at);
    if constexpr (kSums)
      sums.Add(value);
    else
      value = Lanes::Max(value, Lanes::Splat(to.least));
    Lanes::Store(to.out + at, value);
  }

  template <bool kSums>
  static void EmitTiles(const T* m, ptrdiff_t position_stride, int tiles, const Epilogue<T> to) {
    typename Lanes::Sums sums;
    const Vector bias = Lanes::Splat(to.bias);
    const int width = 4 * tiles;
    for (int x = 0; x < width; x += 4 * kLanes) {
      Vector raw[4][4];
      TransformTiles(m + x / 4, position_stride, raw);
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) {
        if (x + k * kLanes >= width) break;
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i)
          EmitVector<kSums>(raw[i][k], to, bias, i * to.stride + x + k * kLanes, sums);
      }
    }
    if constexpr (kSums) sums.AddTo(*to.sums);
  }
  static void TransformOutput(const T* m, ptrdiff_t position_stride, int tiles, const Epilogue<T>& to) {
    if (to.sums == nullptr)
      EmitTiles<false>(m, position_stride, tiles, to);
    else
      EmitTiles<true>(m, position_stride, tiles, to);
  }

  template <bool kSums, typename LoadRaw>
  static void EmitRow(const LoadRaw& load, int columns, const Epilogue<T>& to) {
    typename Lanes::Sums sums;
    const Vector bias = Lanes::Splat(to.bias);
    for (int x = 0; x < columns; x += kLanes) EmitVector<kSums>(load(x), to, bias, x, sums);
    if constexpr (kSums) sums.AddTo(*to.sums);
  }
  static void Emit(const T* raw, int columns, const Epilogue<T>& to) {
    const auto load = [raw](int x) { return Lanes::Load(raw + x); };
    to.sums == nullptr ? EmitRow<false>(load, columns, to) : EmitRow<true>(load, columns, to);
  }
  static void EmitFloat(const float* raw, int columns, const Epilogue<T>& to) {
    const auto load = [raw](int x) { return Lanes::FromFloat(raw + x); };
    to.sums == nullptr ? EmitRow<false>(load, columns, to) : EmitRow<true>(load, columns, to);
  }

  // As many sums as the multiply-adds' latency needs, and each input row serves three of them.
  static void AddChannel(const T* input, ptrdiff_t stride, const float* filter, float* raw,
                         ptrdiff_t raw_stride) {
    constexpr int kAcross = kOneChannelColumns / kLanes;
    Vector sums[kOneChannelRows][kAcross], taps[9];
#pragma GCC unroll 9
    for (int i = 0; i < 9; ++i) taps[i] = Lanes::Splat(filter[i]);
#pragma GCC unroll 16
    for (int n = 0; n < kOneChannelRows * kAcross; ++n) sums[n / kAcross][n % kAcross] = Lanes::Splat(0);
#pragma GCC unroll 6
    for (int j = -1; j <= kOneChannelRows; ++j) {
#pragma GCC unroll 12
      for (int n = 0; n < 3 * kAcross; ++n) {
        const int i = n / kAcross;
        const Vector d = Lanes::Load(input + j * stride + i - 1 + n % kAcross * kLanes);
#pragma GCC unroll 3
        for (int tap = 0; tap < 3; ++tap) {
          const int row = j + 1 - tap;
          if (row >= 0 && row < kOneChannelRows)
            sums[row][n % kAcross] = sums[row][n % kAcross] + taps[3 * tap + i] * d;
        }
      }
    }
#pragma GCC unroll 16
    for (int n = 0; n < kOneChannelRows * kAcross; ++n)
      Lanes::AddToFloat(raw + n / kAcross * raw_stride + n % kAcross * kLanes,
                        sums[n / kAcross][n % kAcross]);
  }

  static void Normalise(T* plane, int count, float slope, float shift, const T* valid) {
    const Vector by = Lanes::Splat(slope), plus = Lanes::Splat(shift), zero = Lanes::Splat(0);
    for (int i = 0; i < count; i += kLanes) {
      const Vector value = Lanes::Max(Lanes::Load(plane + i) * by + plus, zero);
      Lanes::Store(plane + i, value * Lanes::Load(valid + i));
    }
  }
  static void MaskPlane(const T* source, const T* mask, int count, T* target) {
    for (int i = 0; i < count; i += kLanes)
      Lanes::Store(target + i, Lanes::Load(source + i) * Lanes::Load(mask + i));
  }
  static void Twice(const T* source, const T* mask, int count, T* target) {
    for (int x = 0; x < count; x += kLanes) {
      const Vector v = Lanes::Load(source + x);
      Lanes::Store(target + 2 * x, Lanes::ZipLow(v, v) * Lanes::Load(mask + 2 * x));
      const int high = 2 * x + kLanes;
      if (high < 2 * count) Lanes::Store(target + high, Lanes::ZipHigh(v, v) * Lanes::Load(mask + high));
    }
  }
  static void Halve(const T* upper, const T* lower, const T* mask, int count, T* target) {
    for (int x = 0; x < count; x += kLanes) {
      const Vector a = Lanes::Max(Lanes::Load(upper + 2 * x), Lanes::Load(lower + 2 * x));
      const Vector b = Lanes::Max(Lanes::Load(upper + 2 * x + kLanes), Lanes::Load(lower + 2 * x + kLanes));
      Lanes::Store(target + x, Lanes::Max(Lanes::Even(a, b), Lanes::Odd(a, b)) * Lanes::Load(mask + x));
    }
  }
  static void Widen(const T* source, int count, float* target) {
    for (int i = 0; i < count; i += kLanes) Lanes::ToFloat(target + i, Lanes::Load(source + i));
  }
  static void Narrow(const float* source, int count, T* target) {
    for (int i = 0; i < count; i += kLanes) Lanes::Store(target + i, Lanes::FromFloat(source + i));
  }

  // All of it but the products, which each instruction set does its own way.
  static constexpr Arithmetic<T> Make(const char* name) {
    return {name, {},        nullptr,   {},        nullptr, AddChannel, TransformInput, TransformOutput,
            Emit, EmitFloat, Normalise, MaskPlane, Twice,   Halve,      Widen,          Narrow};
  }
};

}  // namespace
}  // namespace lumen
