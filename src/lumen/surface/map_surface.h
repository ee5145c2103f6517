// The surface of a map as it is now, without the way over a run's folder.
#pragma once

#include "lumen/scene/map.h"
#include "lumen/surface/fusion.h"
#include "lumen/surface/gathered_depth.h"

namespace lumen {

// Depth along z of a keyframe by its present state, at the features' size; 0 outside the picture's content.
DepthImage KeyframeDepth(const MapKeyframe& keyframe);

// The keyframes of one sub-map, in order. The list keeps the map.
ViewList ListMapViews(std::shared_ptr<const MapSnapshot> map, int submap);

// Every keyframe's depth gathered from all that see the same, then fused; as `lumen run` does at its end.
FusionResult FuseMap(std::shared_ptr<const MapSnapshot> map, int submap, const GatherOptions& gather,
                     const FusionOptions& fusion, int threads);

}  // namespace lumen
