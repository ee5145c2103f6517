// A lost camera back into the map: keyframes that look alike are tried one after the other, by matches in
// space from nothing, then by alignment.
#pragma once

#include "lumen/loop/place_index.h"
#include "lumen/slam/tracker.h"

namespace lumen {

class Relocaliser {
 public:
  Relocaliser(const RelocalisationOptions& options, const TrackingOptions& tracking);

  // `places` are tried first to last; the last reference may be among them. kRelocalised, or kLost with the
  // reason of the best try.
  TrackResult Relocalise(const LiveFrame& live, const MapSnapshot& map,
                         const std::vector<KeyframeId>& places);

 private:
  RelocalisationOptions options_;
  Tracker tracker_;  // with a registration that survives more outliers
};

}  // namespace lumen
