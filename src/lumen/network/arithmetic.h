// What the engine computes with: every loop over pixels, for one kind of number and one instruction set. The
// engine above decides what is computed; what is below knows neither networks nor masks.
//
// Planes (planes.h) are zero outside the picture, and so are the epilogue's: whatever runs over a row's end
// multiplies by zero and writes zeros, so that all loops go in whole vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lumen {

// Half precision as it lies in memory.
struct Half {
  uint16_t bits;
};

// Sum and sum of squares of a channel, for the norm that follows.
struct ChannelSums {
  double sum = 0, squares = 0;
};

// What becomes of a convolution's raw sums, and where they go: out = raw · scale + bias · valid, which is the
// mask's part; then either a bound from below (ReLU) or the sums for the norm that follows. Of one channel;
// the pointers are of the first pixel of a run of rows, `stride` numbers apart.
template <typename T>
struct Epilogue {
  const T *scale, *valid;
  T* out;
  ptrdiff_t stride;
  float bias;
  float least;        // 0 for a ReLU; without one so low that it never binds
  ChannelSums* sums;  // null: not wanted, and then `least` holds
};

constexpr int kWinogradPositions = 36;
// Products summed in half precision before they are added to the total.
constexpr int kHalfSummands = 32;
constexpr int kOneChannelRows = 4, kOneChannelColumns = 16;

template <typename T>
struct Arithmetic {
  const char* name;

  // out[o][j] = Σ_k weights[k][o] · base[offset(k) + j] for `channels` outputs o and `columns` columns j.
  struct Shape {
    int channels, columns;
  };
  // Rows found at a fixed stride (Winograd's products), as many columns as asked for, a multiple of
  // `columns`.
  Shape product;
  void (*multiply)(const T* weights, const T* base, ptrdiff_t stride, int count, int columns, T* out,
                   ptrdiff_t out_stride);
  // Rows found through a table (direct convolution), one call's columns.
  Shape direct;
  void (*convolve)(const T* weights, const T* base, const int32_t* offsets, int count, T* out,
                   ptrdiff_t out_stride);
  // One input channel's 3×3 part added to four rows of sixteen columns of a single output channel.
  void (*add_channel)(const T* input, ptrdiff_t stride, const float* filter, float* raw,
                      ptrdiff_t raw_stride);

  // Winograd's F(4×4, 3×3), rows of tiles side by side. Both go in whole vectors of tiles, seven more at
  // most. Six rows of a plane (`row` points at column −1 of the first) → V[position · position_stride +
  // tile].
  void (*transform_input)(const T* row, ptrdiff_t row_stride, int tiles, T* out, ptrdiff_t position_stride);
  // M[position · position_stride + tile] → four rows of 4 · tiles columns, through the epilogue.
  void (*transform_output)(const T* m, ptrdiff_t position_stride, int tiles, const Epilogue<T>& to);

  // One row through the epilogue; from raw sums as `convolve` or as `add_channel` leaves them.
  void (*emit)(const T* raw, int columns, const Epilogue<T>& to);
  void (*emit_float)(const float* raw, int columns, const Epilogue<T>& to);

  // Over `count` numbers: max(plane · slope + shift, 0) · valid, and source · mask.
  void (*normalise)(T* plane, int count, float slope, float shift, const T* valid);
  void (*mask)(const T* source, const T* mask, int count, T* target);
  // Of one row, masked: each number twice; the largest of 2×2.
  void (*twice)(const T* source, const T* mask, int count, T* target);
  void (*halve)(const T* upper, const T* lower, const T* mask, int count, T* target);

  void (*widen)(const T* source, int count, float* target);
  void (*narrow)(const float* source, int count, T* target);
};

// U = G g Gᵀ of one 3×3 filter, for the transforms above.
void TransformFilter(const float* filter, float* transformed);

const Arithmetic<float>& FloatArithmetic();
// The fastest this processor has; null where it has none.
const Arithmetic<Half>* HalfArithmetic();
// Half precision rounded by hand after each operation, on any processor: the witness.
const Arithmetic<Half>& PlainHalfArithmetic();

// Of the single files; null where built for another processor, or where this one lacks it.
const Arithmetic<Half>* NeonHalfArithmetic();
const Arithmetic<Half>* Avx512HalfArithmetic();

}  // namespace lumen
