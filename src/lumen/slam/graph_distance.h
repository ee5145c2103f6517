// How far keyframes lie apart in the map's graph, in edges: what a further edge between two would add.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "lumen/slam/mapper.h"

namespace lumen {

struct Reached {
  KeyframeId id = 0;
  int hops = 0;
};

// All keyframes that are at most so many edges away, the keyframe itself first, the nearest before the
// others. An edge that `passable` says no to is not taken.
std::vector<Reached> FindWithin(const Mapper& mapper, KeyframeId from, int hops,
                                const std::function<bool(KeyframeId, KeyframeId)>& passable = {});

}  // namespace lumen
