// What the networks see, as pictures a person can look at.
#pragma once

#include "lumen/image/component_painter.h"
#include "lumen/image/image.h"

namespace lumen {

// Depth between its 2nd and 98th percentile inside the mask, near = bright.
RgbImage DepthPicture(ImageView<const float> depth, ImageView<const uint8_t> mask);

RgbImage Enlarge(ImageView<const uint8_t> picture, int factor);  // by repeating pixels

}  // namespace lumen
