#include "lumen/network/arithmetic_impl.h"

#if defined(__aarch64__) && defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC)

#include <arm_neon.h>
#if defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace lumen {

namespace {

struct NeonHalfLanes {
  using Number = Half;
  using Vector = float16x8_t;
  static constexpr int kLanes = 8;

  static Vector Load(const Half* p) { return vreinterpretq_f16_u16(vld1q_u16(&p->bits)); }
  static void Store(Half* p, Vector v) { vst1q_u16(&p->bits, vreinterpretq_u16_f16(v)); }
  static Vector Splat(float x) { return vdupq_n_f16(static_cast<float16_t>(x)); }
  static Vector Max(Vector a, Vector b) { return vmaxq_f16(a, b); }
  static Vector Even(Vector a, Vector b) { return vuzp1q_f16(a, b); }
  static Vector Odd(Vector a, Vector b) { return vuzp2q_f16(a, b); }
  static Vector ZipLow(Vector a, Vector b) { return vzip1q_f16(a, b); }
  static Vector ZipHigh(Vector a, Vector b) { return vzip2q_f16(a, b); }
  template <int kFrom>
  static Vector Next(Vector v, Vector next) {
    if constexpr (kFrom == 0) return vextq_f16(v, next, 1);
    return vextq_f16(v, vextq_f16(next, next, kFrom), 1);
  }
  static Vector FromFloat(const float* p) {
    return vcvt_high_f16_f32(vcvt_f16_f32(vld1q_f32(p)), vld1q_f32(p + 4));
  }
  static void ToFloat(float* p, Vector v) {
    vst1q_f32(p, vcvt_f32_f16(vget_low_f16(v)));
    vst1q_f32(p + 4, vcvt_high_f32_f16(v));
  }
  static void AddToFloat(float* p, Vector v) {
    vst1q_f32(p, vaddq_f32(vld1q_f32(p), vcvt_f32_f16(vget_low_f16(v))));
    vst1q_f32(p + 4, vaddq_f32(vld1q_f32(p + 4), vcvt_high_f32_f16(v)));
  }

  struct Sums {
    float32x4_t sum[2] = {}, squares[2] = {};

    void Add(Vector value) {
      const float32x4_t low = vcvt_f32_f16(vget_low_f16(value)), high = vcvt_high_f32_f16(value);
      sum[0] = vaddq_f32(sum[0], low);
      sum[1] = vaddq_f32(sum[1], high);
      squares[0] = vfmaq_f32(squares[0], low, low);
      squares[1] = vfmaq_f32(squares[1], high, high);
    }
    void AddTo(ChannelSums& total) const {
      total.sum += static_cast<double>(vaddvq_f32(vaddq_f32(sum[0], sum[1])));
      total.squares += static_cast<double>(vaddvq_f32(vaddq_f32(squares[0], squares[1])));
    }
  };
};

// sum += v · w[kLane]. By hand, because GCC 12 copies the lane into a register of its own first, which halves
// the speed; the instruction can name only the lower sixteen registers for w ("x").
template <int kLane>
inline void AddProduct(float16x8_t& sum, float16x8_t v, float16x8_t w) {
  asm("fmla %0.8h, %1.8h, %2.h[%3]" : "+w"(sum) : "w"(v), "x"(w), "n"(kLane));
}
inline void AddProducts(float16x8_t (&sums)[8], float16x8_t v, float16x8_t w) {
  AddProduct<0>(sums[0], v, w);
  AddProduct<1>(sums[1], v, w);
  AddProduct<2>(sums[2], v, w);
  AddProduct<3>(sums[3], v, w);
  AddProduct<4>(sums[4], v, w);
  AddProduct<5>(sums[5], v, w);
  AddProduct<6>(sums[6], v, w);
  AddProduct<7>(sums[7], v, w);
}

// Sixteen sums, as in single precision: sixteen channels of eight columns, or eight of sixteen.
template <bool kAdd>
inline void MultiplyTile(const Half* weights, const Half* base, ptrdiff_t stride, int count, Half* out,
                         ptrdiff_t out_stride) {
  float16x8_t s[2][8];
#pragma GCC unroll 16
  for (int o = 0; o < 16; ++o) s[o / 8][o % 8] = vdupq_n_f16(0);
  for (int k = 0; k < count; ++k) {
    const float16x8_t row = NeonHalfLanes::Load(base);
    base += stride;
    AddProducts(s[0], row, NeonHalfLanes::Load(weights));
    AddProducts(s[1], row, NeonHalfLanes::Load(weights + 8));
    weights += 16;
  }
#pragma GCC unroll 16
  for (int o = 0; o < 16; ++o) {
    Half* place = out + o * out_stride;
    if constexpr (kAdd) s[o / 8][o % 8] = vaddq_f16(s[o / 8][o % 8], NeonHalfLanes::Load(place));
    NeonHalfLanes::Store(place, s[o / 8][o % 8]);
  }
}

void Multiply(const Half* weights, const Half* base, ptrdiff_t stride, int count, int columns, Half* out,
              ptrdiff_t out_stride) {
  for (int t = 0; t < columns; t += 8) {
    MultiplyTile<false>(weights, base + t, stride, count < kHalfSummands ? count : kHalfSummands, out + t,
                        out_stride);
    for (int k = kHalfSummands; k < count; k += kHalfSummands) {
      const int rest = count - k;
      MultiplyTile<true>(weights + 16 * k, base + t + k * stride, stride,
                         rest < kHalfSummands ? rest : kHalfSummands, out + t, out_stride);
    }
  }
}

void Convolve(const Half* weights, const Half* base, const int32_t* offsets, int count, Half* out,
              ptrdiff_t out_stride) {
  float16x8_t s[2][8];
#pragma GCC unroll 16
  for (int o = 0; o < 16; ++o) s[o / 8][o % 8] = vdupq_n_f16(0);
  for (int k = 0; k < count; ++k) {
    const Half* row = base + offsets[k];
    const float16x8_t w = NeonHalfLanes::Load(weights);
    AddProducts(s[0], NeonHalfLanes::Load(row), w);
    AddProducts(s[1], NeonHalfLanes::Load(row + 8), w);
    weights += 8;
  }
#pragma GCC unroll 16
  for (int o = 0; o < 16; ++o) NeonHalfLanes::Store(out + o % 8 * out_stride + 8 * (o / 8), s[o / 8][o % 8]);
}

bool HaveHalf() {
#if defined(__linux__)
  return (getauxval(AT_HWCAP) & HWCAP_ASIMDHP) != 0;
#else
  return true;
#endif
}

}  // namespace

const Arithmetic<Half>* NeonHalfArithmetic() {
  static const Arithmetic<Half> kArithmetic = [] {
    Arithmetic<Half> made = Loops<NeonHalfLanes>::Make("neon half");
    made.product = {16, 8};
    made.multiply = Multiply;
    made.direct = {8, 16};
    made.convolve = Convolve;
    return made;
  }();
  return HaveHalf() ? &kArithmetic : nullptr;
}

}  // namespace lumen

#else

namespace lumen {
const Arithmetic<Half>* NeonHalfArithmetic() { return nullptr; }
}  // namespace lumen

#endif
