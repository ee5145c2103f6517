// Resizing: by area (every source pixel counts by the share of it that a target pixel covers, so
// nothing aliases) for pictures, by nearest centre for masks, labels and depth.
#pragma once

#include "lumen/image/image.h"

namespace lumen {

RgbImage ResizeArea(ImageView<const uint8_t> image, int width, int height);
Image<float> ResizeArea(ImageView<const float> image, int width, int height);
Mask ResizeNearest(ImageView<const uint8_t> image, int width, int height);
Image<float> ResizeNearest(ImageView<const float> image, int width, int height);

}  // namespace lumen
