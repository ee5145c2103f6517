#include "lumen/network/fast_math.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lumen {

namespace {

// 2^x for |x| < 126: the integer part goes into the exponent, the rest through a polynomial.
inline float Exp2(float x) {
  const float shifted = x + 12582912.0F;  // 1.5 · 2²³: rounds to the nearest integer in the low bits
  const float whole = shifted - 12582912.0F;
  const float f = (x - whole) * 0.693147182F;
  float p = 1.98412698e-4F;
  p = p * f + 1.38888889e-3F;
  p = p * f + 8.33333333e-3F;
  p = p * f + 4.16666667e-2F;
  p = p * f + 1.66666667e-1F;
  p = p * f + 0.5F;
  p = p * f + 1.0F;
  p = p * f + 1.0F;
  const auto exponent = static_cast<uint32_t>(static_cast<int32_t>(whole) + 127) << 23;
  return p * std::bit_cast<float>(exponent);
}

inline float Tanh(float x) {
  const float clamped = std::min(std::max(x, -9.0F), 9.0F);
  // Near zero 1 - 2/(e^{2x} + 1) cancels; the odd series is exact there.
  const float x2 = clamped * clamped;
  const float series = clamped * (1.0F + x2 * (-1.0F / 3 + x2 * (2.0F / 15 - x2 * (17.0F / 315))));
  const float e = Exp2(clamped * 2.88539008F);
  const float quotient = 1.0F - 2.0F / (e + 1.0F);
  return x2 < 0.01F ? series : quotient;
}

}  // namespace

float FastTanh(float x) { return Tanh(x); }

void InterleavePlanes(const float* planes, const PlaneLayout& layout, Activation activation,
                      Image<float>& out) {
  const int channels = out.Channels();
  std::vector<float> row(static_cast<size_t>(layout.width));
  for (int c = 0; c < channels; ++c) {
    for (int y = 0; y < layout.height; ++y) {
      const float* source =
          planes + static_cast<ptrdiff_t>(c) * layout.PlaneSize() + layout.Origin() + y * layout.Stride();
      if (activation == Activation::kTanh) {
        for (int x = 0; x < layout.width; ++x) row[x] = Tanh(source[x]);
      } else if (activation == Activation::kAbs) {
        for (int x = 0; x < layout.width; ++x) row[x] = std::abs(source[x]);
      } else {
        std::copy_n(source, layout.width, row.begin());
      }
      float* target = out.Row(y) + c;
      for (int x = 0; x < layout.width; ++x) target[static_cast<ptrdiff_t>(x) * channels] = row[x];
    }
  }
}

}  // namespace lumen
