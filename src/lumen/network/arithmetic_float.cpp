#include "lumen/image/float4.h"
#include "lumen/image/gemm_kernel.h"
#include "lumen/network/arithmetic_impl.h"

namespace lumen {

namespace {

struct FloatLanes {
  using Number = float;
  using Vector = Float4;
  static constexpr int kLanes = 4;

  static Vector Load(const float* p) { return Load4(p); }
  static void Store(float* p, Vector v) { Store4(p, v); }
  static Vector Splat(float x) { return Splat4(x); }
  static Vector Max(Vector a, Vector b) { return Max4(a, b); }
  static Vector Even(Vector a, Vector b) { return __builtin_shufflevector(a, b, 0, 2, 4, 6); }
  static Vector Odd(Vector a, Vector b) { return __builtin_shufflevector(a, b, 1, 3, 5, 7); }
  static Vector ZipLow(Vector a, Vector b) { return __builtin_shufflevector(a, b, 0, 4, 1, 5); }
  static Vector ZipHigh(Vector a, Vector b) { return __builtin_shufflevector(a, b, 2, 6, 3, 7); }
  // One lane on; lane `kFrom` of `next` moves up.
  template <int kFrom>
  static Vector Next(Vector v, Vector next) {
    return __builtin_shufflevector(v, next, 1, 2, 3, 4 + kFrom);
  }
  static Vector FromFloat(const float* p) { return Load4(p); }
  static void ToFloat(float* p, Vector v) { Store4(p, v); }
  static void AddToFloat(float* p, Vector v) { Store4(p, Load4(p) + v); }

  // By lane, in single precision: for a few rows at a time, in an order that does not depend on threads.
  struct Sums {
    Vector sum = {}, squares = {};

    void Add(Vector value) {
      sum += value;
      squares += value * value;
    }
    void AddTo(ChannelSums& total) const {
      total.sum += static_cast<double>(Sum4(sum));
      total.squares += static_cast<double>(Sum4(squares));
    }
  };
};

void Multiply(const float* weights, const float* base, ptrdiff_t stride, int count, int columns, float* out,
              ptrdiff_t out_stride) {
  const GemmKernel& kernel = BestGemmKernel();
  for (int t = 0; t < columns; t += kernel.columns)
    kernel.with_stride(weights, base + t, stride, count, out + t, out_stride);
}

// G: row j is (1, a_j, a_j²) / Π (a_j − a_k).
struct FilterTransform {
  double g[6][3];

  FilterTransform() {
    constexpr double kPoints[5] = {0, 2.0 / 3, -2.0 / 3, 1.5, -1.5};
    for (int j = 0; j < 5; ++j) {
      double product = 1;
      for (int k = 0; k < 5; ++k) product *= k == j ? 1 : kPoints[j] - kPoints[k];
      for (int i = 0; i < 3; ++i)
        g[j][i] = (i == 0 ? 1 : i == 1 ? kPoints[j] : kPoints[j] * kPoints[j]) / product;
    }
    for (int i = 0; i < 3; ++i) g[5][i] = i == 2 ? 1 : 0;
  }
};

}  // namespace

void TransformFilter(const float* filter, float* transformed) {
  static const FilterTransform kTransform;
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j) {
      double sum = 0;
      for (int a = 0; a < 3; ++a) {
        for (int b = 0; b < 3; ++b)
          sum += kTransform.g[i][a] * static_cast<double>(filter[3 * a + b]) * kTransform.g[j][b];
      }
      transformed[6 * i + j] = static_cast<float>(sum);
    }
  }
}

const Arithmetic<float>& FloatArithmetic() {
  static const Arithmetic<float> kArithmetic = [] {
    const GemmKernel& kernel = BestGemmKernel();
    Arithmetic<float> made = Loops<FloatLanes>::Make(kernel.name);
    made.product = made.direct = {kKernelChannels, kernel.columns};
    made.multiply = Multiply;
    made.convolve = kernel.with_offsets;
    return made;
  }();
  return kArithmetic;
}

const Arithmetic<Half>* HalfArithmetic() {
  static const Arithmetic<Half>* const kBest =
      NeonHalfArithmetic() != nullptr ? NeonHalfArithmetic() : Avx512HalfArithmetic();
  return kBest;
}

}  // namespace lumen
