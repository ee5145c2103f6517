// Numbers as colours: a map that grows evenly in lightness, reads in print and to the colour-blind.
#pragma once

#include <array>

#include "lumen/image/image.h"

namespace lumen {

// Dark blue → green → yellow for t from 0 to 1; outside it is clamped.
std::array<uint8_t, 3> MapColor(double t);

// Values between low and high as colours; black where the mask is 0 (or where there is no mask: nowhere).
RgbImage ColorMap(ImageView<const float> values, double low, double high, ImageView<const uint8_t> mask = {});

}  // namespace lumen
