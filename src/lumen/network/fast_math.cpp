#include "lumen/network/fast_math.h"

#include <algorithm>
#include <cstring>

#include "lumen/image/float4.h"

namespace lumen {

namespace {

typedef int32_t Int4 __attribute__((vector_size(16)));

// 2^x for |x| < 126: the integer part goes into the exponent, the rest through a polynomial.
inline Float4 Exp2(Float4 x) {
  const Float4 shifted = x + 12582912.0F;  // 1.5 · 2²³: rounds to the nearest integer in the low bits
  const Float4 whole = shifted - 12582912.0F;
  const Float4 f = (x - whole) * 0.693147182F;
  Float4 p = Splat4(1.98412698e-4F);
  for (const float coefficient :
       {1.38888889e-3F, 8.33333333e-3F, 4.16666667e-2F, 1.66666667e-1F, 0.5F, 1.0F, 1.0F})
    p = p * f + coefficient;
  const Int4 exponent = (__builtin_convertvector(whole, Int4) + 127) << 23;
  return p * reinterpret_cast<Float4>(exponent);
}

constexpr float kFlat = 9.0F;  // beyond, the float nearest to tanh is 1

inline Float4 Tanh(Float4 x) {
  const Float4 clamped = Min4(Max4(x, Splat4(-kFlat)), Splat4(kFlat));
  // Near zero 1 - 2/(e^{2x} + 1) cancels; the odd series is exact there.
  const Float4 x2 = clamped * clamped;
  const Float4 series = clamped * (1.0F + x2 * (-1.0F / 3 + x2 * (2.0F / 15 - x2 * (17.0F / 315))));
  const Float4 e = Exp2(clamped * 2.88539008F);
  const Float4 quotient = 1.0F - 2.0F / (e + 1.0F);
  return x2 < 0.01F ? series : quotient;
}

inline Float4 Activate(Float4 x, Activation activation) {
  if (activation == Activation::kTanh) return Tanh(x);
  if (activation == Activation::kAbs) return Max4(x, -x);
  return x;
}

}  // namespace

float FastTanh(float x) { return Tanh(Splat4(x))[0]; }

void InterleaveRow(const float* rows, ptrdiff_t stride, Activation activation, int y, Image<float>& out) {
  const int channels = out.Channels();
  float* const pixels = out.Row(y);
  for (int x = 0; x < out.Width(); x += 4) {
    for (int c = 0; c < channels; c += 4) {
      const int columns = std::min(4, out.Width() - x);
      const int used = std::min(4, channels - c);
      // Four channels of four columns, turned; rows have room behind them, so four columns can be read.
      Float4 v[4] = {};
      for (int k = 0; k < used; ++k) {
        v[k] = Activate(Load4(rows + (c + k) * stride + x), activation);
      }
      Transpose4(v[0], v[1], v[2], v[3]);
      float* target = pixels + static_cast<ptrdiff_t>(x) * channels + c;
      for (int k = 0; k < columns; ++k, target += channels) {
        if (used == 4)
          Store4(target, v[k]);
        else
          std::memcpy(target, &v[k], static_cast<size_t>(used) * sizeof(float));
      }
    }
  }
}

}  // namespace lumen
