#include "lumen/slam/graph_distance.h"

#include <set>

namespace lumen {

std::vector<Reached> FindWithin(const Mapper& mapper, KeyframeId from, int hops,
                                const std::function<bool(KeyframeId, KeyframeId)>& passable) {
  std::vector<Reached> reached{{from, 0}};
  std::set<KeyframeId> known{from};
  for (size_t i = 0; i < reached.size(); ++i) {  // grows as it goes
    const Reached at = reached[i];
    if (at.hops == hops) break;
    for (const KeyframeId next : mapper.Neighbours(at.id)) {
      if (passable && !passable(at.id, next)) continue;
      if (known.insert(next).second) reached.push_back({next, at.hops + 1});
    }
  }
  return reached;
}

}  // namespace lumen
