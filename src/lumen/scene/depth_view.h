// Depth maps from known places: what a surface is made of, and what others that see the same make finer.
#pragma once

#include <functional>

#include "lumen/geometry/camera.h"
#include "lumen/geometry/rigid3.h"
#include "lumen/image/image.h"

namespace lumen {

// The picture may have any size, and may be empty.
struct DepthView {
  UnifiedCamera camera;  // of the depth map, which is in its measure
  Rigid3 world_from_camera;
  DepthImage depth;
  RgbImage image;
  Image<float> sigma = {};  // standard deviation, as a share of the depth; empty, or 0: not known
};

// Views that are loaded one at a time: a long video's do not fit into memory all at once.
struct ViewList {
  int count = 0;
  std::function<DepthView(int)> load;
};

}  // namespace lumen
