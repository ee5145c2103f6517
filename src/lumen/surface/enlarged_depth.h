// A depth map brought to the size of a picture of the same view, its edges where the picture has them.
#pragma once

#include "lumen/image/image.h"

namespace lumen {

// Each coarse pixel is a piece of a plane; a fine one takes the middle of what those around it say, the near
// ones, those as bright as it is, and those that no edge runs through counting most. `guide` is grey; depth 0
// is unknown and stays so.
DepthImage EnlargeDepth(const DepthImage& coarse, ImageView<const uint8_t> guide);

}  // namespace lumen
