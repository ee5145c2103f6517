// Depth that several maps agree on, seen from anywhere: what may be believed without being told the truth.
#pragma once

#include "lumen/scene/depth_view.h"

namespace lumen {

struct AgreementOptions {
  int least = 3;            // maps that must agree
  double share = 0.6;       // of those that show in a pixel
  double tolerance = 0.04;  // of the depth
  double edge = 1.12;       // ratio of neighbouring pixels beyond which there is an edge
};

// On a grid of this size in front of `camera` at that place: the middle of what the maps say of a pixel; 0
// where too few show there, or too few of them agree.
DepthImage AgreeOnDepth(const UnifiedCamera& camera, int width, int height, const Rigid3& world_from_camera,
                        const std::vector<const DepthView*>& maps, const AgreementOptions& options = {});

// The maps that stand nearest to a place and look the same way: `most` of them, by index.
std::vector<size_t> NearestViews(const Rigid3& world_from_camera, const std::vector<DepthView>& views,
                                 double depth, size_t most);

}  // namespace lumen
