// How much of one frame another one sees, given depth and pose: what decides about keyframes and loops.
#pragma once

#include <optional>

#include "lumen/scene/map.h"

namespace lumen {

struct Overlap {
  double area = 0;   // hull of the warped pixels that land in the target, as a share of the source's hull
  double point = 0;  // share of the source's pixels that land in the target
  double flow = 0;   // mean displacement of what lies before the camera, as a share of the image's width
  double Product() const { return area * point; }
};

// Over the source's eroded mask; a pixel lands if it falls into the target's eroded mask.
Overlap MeasureOverlap(ImageView<const float> source_depth, const View& source, const View& target,
                       const Rigid3& target_from_source);

// The log-scale that makes the target's depth map agree best with the source's, seen from the target: the
// median of warped depth over target depth. Nothing where fewer than `least` pixels are seen.
std::optional<double> EstimateLogScale(ImageView<const float> source_depth, const View& source,
                                       ImageView<const float> target_depth, const View& target,
                                       const Rigid3& target_from_source, int least = 50);

// How the two disagree where they may be the same place; unknown where these are fewer than `least`.
DepthDisagreement CompareDepths(ImageView<const float> source_depth, const View& source,
                                ImageView<const float> target_depth, const View& target,
                                const Rigid3& target_from_source, int least = 50);

}  // namespace lumen
