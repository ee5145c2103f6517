#include "lumen/network/arithmetic_impl.h"

#if defined(__x86_64__) && defined(__AVX512FP16__) && defined(__AVX512VL__)

#include <cpuid.h>
#include <immintrin.h>

namespace lumen {

namespace {

struct Avx512HalfLanes {
  using Number = Half;
  using Vector = __m128h;  // short vectors: maps are twenty tiles wide and less
  static constexpr int kLanes = 8;

  static Vector Load(const Half* p) { return _mm_loadu_ph(p); }
  static void Store(Half* p, Vector v) { _mm_storeu_ph(p, v); }
  static Vector Splat(float x) { return _mm_set1_ph(static_cast<_Float16>(x)); }
  // What is not a number stays so where it is the first: the instruction then gives its second operand.
  static Vector Max(Vector a, Vector b) { return _mm_max_ph(b, a); }
  static Vector Even(Vector a, Vector b) { return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14); }
  static Vector Odd(Vector a, Vector b) { return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15); }
  static Vector ZipLow(Vector a, Vector b) { return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11); }
  static Vector ZipHigh(Vector a, Vector b) {
    return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  }
  template <int kFrom>
  static Vector Next(Vector v, Vector next) {
    return __builtin_shufflevector(v, next, 1, 2, 3, 4, 5, 6, 7, 8 + kFrom);
  }
  static Vector FromFloat(const float* p) { return _mm256_cvtxps_ph(_mm256_loadu_ps(p)); }
  static void ToFloat(float* p, Vector v) { _mm256_storeu_ps(p, _mm256_cvtxph_ps(v)); }
  static void AddToFloat(float* p, Vector v) {
    _mm256_storeu_ps(p, _mm256_add_ps(_mm256_loadu_ps(p), _mm256_cvtxph_ps(v)));
  }

  struct Sums {
    __m256 sum = {}, squares = {};

    void Add(Vector value) {
      const __m256 wide = _mm256_cvtxph_ps(value);
      sum += wide;
      squares += wide * wide;
    }
    static float Total(__m256 v) {
      const __m128 four = _mm256_castps256_ps128(v) + _mm256_extractf128_ps(v, 1);
      return (four[0] + four[1]) + (four[2] + four[3]);
    }
    void AddTo(ChannelSums& total) const {
      total.sum += static_cast<double>(Total(sum));
      total.squares += static_cast<double>(Total(squares));
    }
  };
};

typedef _Float16 Half8 __attribute__((vector_size(16)));
typedef _Float16 Half16 __attribute__((vector_size(32)));
typedef _Float16 Half32 __attribute__((vector_size(64)));

// kChannels sums of one vector of columns; the multiply-add takes each weight as a broadcast operand.
template <typename Vector, int kChannels, bool kAdd, typename NextRow>
inline void RunTile(const Half* weights, NextRow next_row, int count, Half* out, ptrdiff_t out_stride) {
  typedef Vector Unaligned __attribute__((aligned(2), may_alias));
  typedef _Float16 Number __attribute__((may_alias));
  Vector sums[kChannels] = {};
  for (int k = 0; k < count; ++k) {
    const Vector row = *reinterpret_cast<const Unaligned*>(next_row());
    const Number* w = reinterpret_cast<const Number*>(weights);
    weights += kChannels;
#pragma GCC unroll 16
    for (int o = 0; o < kChannels; ++o) sums[o] += w[o] * row;
  }
#pragma GCC unroll 16
  for (int o = 0; o < kChannels; ++o) {
    Unaligned* place = reinterpret_cast<Unaligned*>(out + o * out_stride);
    if constexpr (kAdd) sums[o] += *place;
    *place = sums[o];
  }
}

template <typename Vector>
inline void MultiplyTile(const Half* weights, const Half* base, ptrdiff_t stride, int count, Half* out,
                         ptrdiff_t out_stride) {
  const auto next_row = [&base, stride] {
    const Half* row = base;
    base += stride;
    return row;
  };
  const int first = count < kHalfSummands ? count : kHalfSummands;
  RunTile<Vector, 16, false>(weights, next_row, first, out, out_stride);
  for (int k = kHalfSummands; k < count; k += kHalfSummands) {
    const int rest = count - k < kHalfSummands ? count - k : kHalfSummands;
    RunTile<Vector, 16, true>(weights + 16 * k, next_row, rest, out, out_stride);
  }
}

void Multiply(const Half* weights, const Half* base, ptrdiff_t stride, int count, int columns, Half* out,
              ptrdiff_t out_stride) {
  int t = 0;
  for (; t + 32 <= columns; t += 32)
    MultiplyTile<Half32>(weights, base + t, stride, count, out + t, out_stride);
  if (t + 16 <= columns) {
    MultiplyTile<Half16>(weights, base + t, stride, count, out + t, out_stride);
    t += 16;
  }
  if (t < columns) MultiplyTile<Half8>(weights, base + t, stride, count, out + t, out_stride);
}

void Convolve(const Half* weights, const Half* base, const int32_t* offsets, int count, Half* out,
              ptrdiff_t out_stride) {
  const auto next_row = [base, &offsets] { return base + *offsets++; };
  RunTile<Half32, 8, false>(weights, next_row, count, out, out_stride);
}

// Asked of the processor itself: compilers learn its name for this late.
bool HaveAvx512Half() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512bw")) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d >> 23 & 1U) != 0;
}

}  // namespace

const Arithmetic<Half>* Avx512HalfArithmetic() {
  static const Arithmetic<Half> kArithmetic = [] {
    Arithmetic<Half> made = Loops<Avx512HalfLanes>::Make("avx512 half");
    made.product = {16, 8};
    made.multiply = Multiply;
    made.direct = {8, 32};
    made.convolve = Convolve;
    return made;
  }();
  return HaveAvx512Half() ? &kArithmetic : nullptr;
}

}  // namespace lumen

#else

namespace lumen {
const Arithmetic<Half>* Avx512HalfArithmetic() { return nullptr; }
}  // namespace lumen

#endif
