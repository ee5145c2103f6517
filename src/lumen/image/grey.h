// Grey as tissue shows its vessels: mostly green.
#pragma once

#include "lumen/image/image.h"

namespace lumen {

inline uint8_t GreyOf(const uint8_t* rgb) {
  return static_cast<uint8_t>((51U * rgb[0] + 154U * rgb[1] + 51U * rgb[2] + 128U) >> 8);
}

Image<uint8_t> ToGrey(ImageView<const uint8_t> rgb);

}  // namespace lumen
