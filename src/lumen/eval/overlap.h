// How much two true views have in common: what tells a right loop from a false one.
#pragma once

#include <optional>

#include "lumen/geometry/camera.h"
#include "lumen/geometry/rigid3.h"
#include "lumen/image/image.h"

namespace lumen {

struct TrueView {
  DepthImage depth;
  Rigid3 world_from_camera;
};

// Below this share of common view a loop counts as false.
inline constexpr double kFalseLoopOverlap = 0.1;

// Share of a's known pixels that b sees too: inside its image, at the depth b has there to 10 %. The larger
// of the two directions, so that a close-up of what the other sees from afar overlaps wholly. Nothing where
// either has fewer than 50 known pixels. `camera` is of the depth maps' size.
std::optional<double> ComputeOverlap(const TrueView& a, const TrueView& b, const Camera& camera);

}  // namespace lumen
