// What the networks know of a video besides its frames: where there is content, and how far off the lens's
// axis each pixel looks. A picture alone does not say whether a wall is far or the lens wide.
#pragma once

#include "lumen/geometry/camera.h"
#include "lumen/image/image.h"

namespace lumen {

// Both of the input frames' size.
struct LensView {
  Mask mask;
  Image<float> angles;  // radians

  LensView(const Camera& camera, const Mask& content);
  // Of a lens that nobody knows: taken for a pinhole of 77°.
  LensView(const Mask& content);  // NOLINT(google-explicit-constructor)
};

}  // namespace lumen
