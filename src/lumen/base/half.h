// IEEE half precision as sixteen bits, to store numbers in.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace lumen {

// To nearest, ties to even; beyond 65504 infinite; below 2⁻²⁴ zero or the smallest there is.
inline uint16_t ToHalf(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000U;
  const uint32_t size = bits & 0x7fffffffU;
  if (size > 0x7f800000U) return static_cast<uint16_t>(sign | 0x7e00U);   // not a number
  if (size >= 0x477ff000U) return static_cast<uint16_t>(sign | 0x7c00U);  // rounds to 65536 or more
  if (size < 0x38800000U) {  // below 2⁻¹⁴: a multiple of 2⁻²⁴
    const float steps = std::nearbyint(std::bit_cast<float>(size) * 0x1p24F);
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(steps));
  }
  const uint32_t rounded = size + 0xfffU + (size >> 13 & 1U);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000U) >> 13));
}

inline float FromHalf(uint16_t half) {
  const uint32_t sign = (half & 0x8000U) << 16;
  const uint32_t size = half & 0x7fffU;
  if (size >= 0x7c00U) return std::bit_cast<float>(sign | 0x7f800000U | (size & 0x3ffU) << 13);
  if (size < 0x400U)
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(static_cast<float>(size) * 0x1p-24F));
  return std::bit_cast<float>(sign | ((size << 13) + 0x38000000U));
}

}  // namespace lumen
