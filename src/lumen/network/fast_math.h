// Activations at the end of a head, on whole rows at once.
#pragma once

#include "lumen/network/architecture.h"
#include "lumen/network/planes.h"

namespace lumen {

// tanh to about 2e-7, without branches or library calls: one lane of what rows go through.
float FastTanh(float x);

// One row of planes → interleaved pixels, through the activation.
void InterleaveRow(const float* planes, const PlaneLayout& layout, Activation activation, int y,
                   Image<float>& out);

}  // namespace lumen
