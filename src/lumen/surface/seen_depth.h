// A depth map as a surface, seen from elsewhere.
#pragma once

#include "lumen/scene/depth_view.h"

namespace lumen {

struct SeenDepth {
  DepthImage depth;    // on the grid of who looks; 0 where the surface does not show
  Image<float> finer;  // how much more finely the map saw the place than who looks does, in pixels a pixel
};

// What of `other` shows in the view's camera, nearest first. It is open along the edges of folds: where
// neighbours' depths differ by more than `edge` times.
SeenDepth SeeFrom(const DepthView& view, const DepthView& other, double edge);

}  // namespace lumen
