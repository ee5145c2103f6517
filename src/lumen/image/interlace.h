// Interlaced video: odd and even rows were seen a fiftieth or sixtieth of a second apart, and whatever moved
// in between shows teeth.
#pragma once

#include "lumen/image/image.h"

namespace lumen {

// The share of looked-at pixels where rows alternate between two values, as teeth do and hardly anything
// else.
double ShareOfTeeth(ImageView<const uint8_t> rgb);
inline constexpr double kTeethInAFrame = 0.002;  // a frame with more is woven of two

// Keeps the even rows and fills the odd ones in between.
void KeepOneField(RgbImage& image);

}  // namespace lumen
