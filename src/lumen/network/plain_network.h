// The networks in their plainest form: nested loops in double precision, straight from the definition.
// The witness for everything faster.
#pragma once

#include "lumen/base/safetensors.h"
#include "lumen/network/lens_view.h"
#include "lumen/network/mask_plan.h"

namespace lumen {

// Outputs of all heads, each interleaved (height, width, channels).
std::vector<Image<float>> RunPlainNetwork(const NetworkSpec& spec,
                                          const std::map<std::string, Tensor>& tensors, const LensView& view,
                                          ImageView<const uint8_t> rgb);

// One partial convolution of an interleaved image; `input` is masked inside.
Image<double> PlainPartialConv(const Image<double>& input, const Mask& mask, const Tensor& weight,
                               const Tensor& bias);

}  // namespace lumen
