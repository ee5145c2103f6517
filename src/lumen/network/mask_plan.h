// What depends on the video's mask alone: which pixels each convolution sees as valid, and by how much
// its sum over valid taps must be scaled. Computed once per video.
#pragma once

#include <vector>

#include "lumen/image/image.h"
#include "lumen/network/architecture.h"

namespace lumen {

// A partial convolution's mask side: out = valid · (raw · scale + bias), where raw is the convolution of
// the masked input and scale is 9 / (number of valid taps).
struct ConvMask {
  Mask valid;          // any valid tap
  Image<float> scale;  // 0 where not valid
};

struct BlockMasks {
  Mask input;
  ConvMask conv1, conv2;
};

// One entry per block of ListBlocks(spec). `mask` is of the network's input size.
std::vector<BlockMasks> PlanMasks(const NetworkSpec& spec, const Mask& mask);

ConvMask MakeConvMask(const Mask& input);

}  // namespace lumen
