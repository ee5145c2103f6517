// Activations at the end of a head, on whole rows at once.
#pragma once

#include "lumen/image/image.h"
#include "lumen/network/architecture.h"

namespace lumen {

// tanh to about 2e-7, without branches or library calls: one lane of what rows go through.
float FastTanh(float x);

// One row of each channel, `stride` floats apart → interleaved pixels, through the activation.
void InterleaveRow(const float* rows, ptrdiff_t stride, Activation activation, int y, Image<float>& out);

}  // namespace lumen
