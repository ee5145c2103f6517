// A place seen ten times should cost little more than once: keyframes whose place older ones show as well
// retire. Their neighbours are tied to the one that stays instead, and what they saw stays where it was seen.
#pragma once

#include "lumen/slam/loop_closer.h"

namespace lumen {

class KeyframeCuller {
 public:
  KeyframeCuller(const MapOptions& options, const KeyframeOptions& covering, Mapper& mapper,
                 const LoopCloser& loops)
      : options_(options), covering_(covering), mapper_(mapper), loops_(loops) {}

  // After this keyframe was added: looks at those that have been in the map for a while. Returns who retired.
  std::vector<KeyframeId> Cull(KeyframeId newest);

 private:
  bool MayGo(KeyframeId id) const;
  // An older keyframe of another visit that shows what this one does; -1 if there is none.
  KeyframeId FindHost(KeyframeId id) const;
  // The neighbour that shows most of what this one does.
  KeyframeId BestNeighbour(KeyframeId id) const;
  // Ties the neighbours to the host and retires the keyframe, if they hang together then.
  bool RetireTo(KeyframeId id, KeyframeId host, double least_overlap);

  MapOptions options_;
  KeyframeOptions covering_;
  Mapper& mapper_;
  const LoopCloser& loops_;
};

}  // namespace lumen
