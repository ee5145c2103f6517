// Keyframes keep their features packed, and whoever warps into one needs its levels with their gradients:
// those of the last few are kept at hand, because edges of one keyframe are evaluated one after the other.
#pragma once

#include <memory>
#include <mutex>

#include "lumen/base/last_few.h"
#include "lumen/scene/frame.h"

namespace lumen {

class UnpackedFeatures {
 public:
  explicit UnpackedFeatures(size_t most) : entries_(most) {}

  // The finest levels of a packed frame. May be called from any thread.
  std::shared_ptr<const FeaturePyramid> Of(const std::shared_ptr<const Frame>& frame, int levels);

 private:
  struct Entry {
    std::shared_ptr<const Frame> frame;
    int levels = 0;
    std::once_flag once;
    FeaturePyramid features;
  };

  LastFew<Entry> entries_;
};

}  // namespace lumen
