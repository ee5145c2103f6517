// A spot that was not seen: how large, where, why, and from which frame to look again.
#pragma once

#include "lumen/coverage/coverage.h"

namespace lumen {

MissedSpot DescribeSpot(const std::vector<int>& spot, const std::vector<WallPiece>& pieces,
                        const std::vector<DepthSighting>& sightings,
                        const std::vector<std::optional<PlaceOnWay>>& places, const TriangleTree& wall,
                        const CoverageInput& input);

}  // namespace lumen
