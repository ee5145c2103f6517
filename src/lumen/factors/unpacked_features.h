// Keyframes keep their features packed, and whoever warps into one needs its levels with their gradients:
// those of the last few are kept at hand, because edges of one keyframe are evaluated one after the other.
#pragma once

#include <list>
#include <memory>
#include <mutex>

#include "lumen/scene/frame.h"

namespace lumen {

class UnpackedFeatures {
 public:
  explicit UnpackedFeatures(size_t most) : most_(most) {}

  // The finest levels of a packed frame. May be called from any thread.
  std::shared_ptr<const FeaturePyramid> Of(const std::shared_ptr<const Frame>& frame, int levels);

 private:
  struct Entry {
    std::shared_ptr<const Frame> frame;
    int levels = 0;
    std::once_flag once;
    FeaturePyramid features;
  };
  std::shared_ptr<Entry> Find(const std::shared_ptr<const Frame>& frame, int levels);

  size_t most_;
  std::mutex mutex_;                           // guards the list
  std::list<std::shared_ptr<Entry>> entries_;  // the last used first
};

}  // namespace lumen
