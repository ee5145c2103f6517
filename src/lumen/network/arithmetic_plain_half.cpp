#include "lumen/base/half.h"
#include "lumen/network/arithmetic_impl.h"

namespace lumen {

namespace {

constexpr int kPlainLanes = 8;

float Rounded(float value) { return FromHalf(ToHalf(value)); }

struct PlainVector {
  float v[kPlainLanes];

  template <typename Function>
  static PlainVector Make(const Function& function) {
    PlainVector made{};
    for (int i = 0; i < kPlainLanes; ++i) made.v[i] = Rounded(function(i));
    return made;
  }
  friend PlainVector operator+(const PlainVector& a, const PlainVector& b) {
    return Make([&](int i) { return a.v[i] + b.v[i]; });
  }
  friend PlainVector operator-(const PlainVector& a, const PlainVector& b) {
    return Make([&](int i) { return a.v[i] - b.v[i]; });
  }
  friend PlainVector operator*(const PlainVector& a, const PlainVector& b) {
    return Make([&](int i) { return a.v[i] * b.v[i]; });
  }
};

struct PlainHalfLanes {
  using Number = Half;
  using Vector = PlainVector;
  static constexpr int kLanes = kPlainLanes;

  static float At(const Vector& a, const Vector& b, int i) { return i < kLanes ? a.v[i] : b.v[i - kLanes]; }

  static Vector Load(const Half* p) {
    return Vector::Make([&](int i) { return FromHalf(p[i].bits); });
  }
  static void Store(Half* p, const Vector& v) {
    for (int i = 0; i < kLanes; ++i) p[i].bits = ToHalf(v.v[i]);
  }
  static Vector Splat(float x) {
    return Vector::Make([&](int) { return x; });
  }
  static Vector Max(const Vector& a, const Vector& b) {
    return Vector::Make([&](int i) { return b.v[i] > a.v[i] ? b.v[i] : a.v[i]; });
  }
  static Vector Even(const Vector& a, const Vector& b) {
    return Vector::Make([&](int i) { return At(a, b, 2 * i); });
  }
  static Vector Odd(const Vector& a, const Vector& b) {
    return Vector::Make([&](int i) { return At(a, b, 2 * i + 1); });
  }
  static Vector ZipLow(const Vector& a, const Vector& b) {
    return Vector::Make([&](int i) { return (i % 2 == 0 ? a : b).v[i / 2]; });
  }
  static Vector ZipHigh(const Vector& a, const Vector& b) {
    return Vector::Make([&](int i) { return (i % 2 == 0 ? a : b).v[(kLanes + i) / 2]; });
  }
  template <int kFrom>
  static Vector Next(const Vector& v, const Vector& next) {
    return Vector::Make([&](int i) { return i + 1 < kLanes ? v.v[i + 1] : next.v[kFrom]; });
  }
  static Vector FromFloat(const float* p) {
    return Vector::Make([&](int i) { return p[i]; });
  }
  static void ToFloat(float* p, const Vector& v) {
    for (int i = 0; i < kLanes; ++i) p[i] = v.v[i];
  }
  static void AddToFloat(float* p, const Vector& v) {
    for (int i = 0; i < kLanes; ++i) p[i] += v.v[i];
  }

  struct Sums {
    double sum = 0, squares = 0;

    void Add(const Vector& value) {
      for (const float v : value.v) {
        sum += static_cast<double>(v);
        squares += static_cast<double>(v) * static_cast<double>(v);
      }
    }
    void AddTo(ChannelSums& total) const {
      total.sum += sum;
      total.squares += squares;
    }
  };
};

constexpr int kPlainChannels = 8;

template <typename RowOf>
void RunPlain(const Half* weights, const RowOf& row_of, int count, Half* out, ptrdiff_t out_stride) {
  for (int o = 0; o < kPlainChannels; ++o) {
    for (int j = 0; j < kPlainLanes; ++j) {
      float total = 0;
      for (int first = 0; first < count; first += kHalfSummands) {
        float sum = 0;
        for (int k = first; k < count && k < first + kHalfSummands; ++k)
          sum = Rounded(sum + FromHalf(weights[k * kPlainChannels + o].bits) * FromHalf(row_of(k)[j].bits));
        total = Rounded(total + sum);
      }
      out[o * out_stride + j].bits = ToHalf(total);
    }
  }
}

void Multiply(const Half* weights, const Half* base, ptrdiff_t stride, int count, int columns, Half* out,
              ptrdiff_t out_stride) {
  for (int t = 0; t < columns; t += kPlainLanes)
    RunPlain(
        weights, [=](int k) { return base + t + k * stride; }, count, out + t, out_stride);
}
void Convolve(const Half* weights, const Half* base, const int32_t* offsets, int count, Half* out,
              ptrdiff_t out_stride) {
  RunPlain(
      weights, [=](int k) { return base + offsets[k]; }, count, out, out_stride);
}

}  // namespace

const Arithmetic<Half>& PlainHalfArithmetic() {
  static const Arithmetic<Half> kArithmetic = [] {
    Arithmetic<Half> made = Loops<PlainHalfLanes>::Make("plain half");
    made.product = made.direct = {kPlainChannels, kPlainLanes};
    made.multiply = Multiply;
    made.convolve = Convolve;
    return made;
  }();
  return kArithmetic;
}

}  // namespace lumen
