// The map as others see it: an immutable, versioned snapshot of keyframes, their states and the edges
// between them.
#pragma once

#include <map>

#include "lumen/scene/frame.h"

namespace lumen {

using KeyframeId = int64_t;

enum class EdgeKind { kTemporal, kLocalLoop, kGlobalLoop };

struct MapEdge {
  KeyframeId first = 0;
  KeyframeId second = 0;
  EdgeKind kind = EdgeKind::kTemporal;
  friend bool operator==(const MapEdge&, const MapEdge&) = default;
};

// How two keyframes' depths disagree about places that both see: of the logarithms of their ratio the middle,
// and half of what their middle two thirds spread over.
struct DepthDisagreement {
  double offset = 0;
  double spread = 0;
  int places = 0;

  bool Known() const { return places > 0; }
};

struct MapKeyframe {
  std::shared_ptr<const Keyframe> keyframe;
  KeyframeState state;
  int submap = 0;  // keyframes of different sub-maps have nothing to do with each other yet
  // A keyframe that has retired, since another shows its place, lies as it lay with that one, its host. Of
  // what it was made from the picture and its depth are left, for surface and path.
  KeyframeId host = -1;
  // With a keyframe a little before it, when it came into the map.
  DepthDisagreement disagreement = {};

  bool IsActive() const { return host < 0; }
};

struct MapSnapshot {
  int64_t version = 0;
  std::map<KeyframeId, MapKeyframe> keyframes;
  std::vector<MapEdge> edges;
};

}  // namespace lumen
