// Activations at the end of a head, on whole maps at once.
#pragma once

#include "lumen/network/architecture.h"
#include "lumen/network/planes.h"

namespace lumen {

// tanh to about 2e-7, without branches or library calls, so that loops over it become vector code.
float FastTanh(float x);

// Planes → interleaved pixels, through the activation.
void InterleavePlanes(const float* planes, const PlaneLayout& layout, Activation activation,
                      Image<float>& out);

}  // namespace lumen
