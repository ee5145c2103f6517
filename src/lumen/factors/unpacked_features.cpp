#include "lumen/factors/unpacked_features.h"

namespace lumen {

std::shared_ptr<const FeaturePyramid> UnpackedFeatures::Of(const std::shared_ptr<const Frame>& frame,
                                                           int levels) {
  const std::shared_ptr<Entry> entry =
      entries_.Of([&](const Entry& other) { return other.frame == frame && other.levels == levels; },
                  [&] {
                    auto made = std::make_shared<Entry>();
                    made->frame = frame;
                    made->levels = levels;
                    return made;
                  });
  std::call_once(entry->once,
                 [&] { entry->features = UnpackFeatures(frame->features, frame->view->mask, levels); });
  return {entry, &entry->features};
}

}  // namespace lumen
