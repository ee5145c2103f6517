// What becomes of a convolution's raw sums, and where they go: out = raw · scale + bias · valid, which is
// the mask's part; then either a bound from below (ReLU) or the sums for the norm that follows.
#pragma once

#include <cstddef>

#include "lumen/image/float4.h"

namespace lumen {

// Sum and sum of squares of a channel, for the norm that follows.
struct ChannelSums {
  double sum = 0, squares = 0;
};

// Of one channel; the pointers are of the first pixel of a run of rows, `stride` floats apart.
struct Epilogue {
  const float *scale, *valid;
  float* out;
  ptrdiff_t stride;
  float bias;
  float least;  // 0 for a ReLU; without one so low that it never binds

  Epilogue Shifted(ptrdiff_t columns) const {
    return {scale + columns, valid + columns, out + columns, stride, bias, least};
  }
};

// Sums by lane, in single precision: for a few rows at a time, in an order that does not depend on threads.
struct LaneSums {
  Float4 sum = {}, squares = {};

  void AddTo(ChannelSums& total) const {
    total.sum += static_cast<double>(Sum4(sum));
    total.squares += static_cast<double>(Sum4(squares));
  }
};

template <bool kSums>
inline void EmitFour(Float4 raw, const Epilogue& to, ptrdiff_t at, LaneSums& sums) {
  Float4 value = raw * Load4(to.scale + at) + to.bias * Load4(to.valid + at);
  if constexpr (kSums) {
    sums.sum += value;
    sums.squares += value * value;
  } else {
    value = Max4(value, Splat4(to.least));
  }
  Store4(to.out + at, value);
}

// `count` neighbouring columns; what does not fill four lanes goes one by one.
template <bool kSums>
inline void EmitRun(const float* raw, int count, const Epilogue& to, ptrdiff_t at, LaneSums& sums) {
  int x = 0;
  LaneSums odd;  // a second chain of additions, so that they need not wait for each other
  for (; x + 8 <= count; x += 8) {
    EmitFour<kSums>(Load4(raw + x), to, at + x, sums);
    EmitFour<kSums>(Load4(raw + x + 4), to, at + x + 4, odd);
  }
  if (x + 4 <= count) {
    EmitFour<kSums>(Load4(raw + x), to, at + x, sums);
    x += 4;
  }
  for (; x < count; ++x) {
    const float value = raw[x] * to.scale[at + x] + to.bias * to.valid[at + x];
    to.out[at + x] = kSums || value > to.least ? value : to.least;
    sums.sum[0] += value;
    sums.squares[0] += value * value;
  }
  sums.sum += odd.sum;
  sums.squares += odd.squares;
}

}  // namespace lumen
