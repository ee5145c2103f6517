// Gaussian pyramids that respect a mask, and gradients. A coarse pixel X covers the fine pixels 2X and
// 2X+1, so its centre lies at 2X + 0.5: the smoothing kernel is [1 3 3 1]/8, symmetric about that point,
// and no level is shifted against another.
#pragma once

#include <vector>

#include "lumen/image/image.h"

namespace lumen {

// Half the size: weighted mean over valid pixels; 0 where none is valid. `mask` is of the image's size.
Image<float> DownsampleMasked(ImageView<const float> image, ImageView<const uint8_t> mask);
// Half the size: valid where any of the four fine pixels is.
Mask DownsampleMask(ImageView<const uint8_t> mask);

// Level 0 is the image itself.
std::vector<Image<float>> MakeMaskedPyramid(Image<float> image, const Mask& mask, int levels);

// Interleaves an image with its spatial derivatives as [f | df/dx | df/dy]. Central differences inside;
// one-sided where one neighbour lies outside image or mask; 0 where both do.
Image<float> InterleaveGradients(ImageView<const float> image, ImageView<const uint8_t> mask);

}  // namespace lumen
