#include "lumen/factors/unpacked_features.h"

#include <algorithm>

namespace lumen {

std::shared_ptr<UnpackedFeatures::Entry> UnpackedFeatures::Find(const std::shared_ptr<const Frame>& frame,
                                                                int levels) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) {
    return entry->frame == frame && entry->levels == levels;
  });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    return entries_.front();
  }
  auto entry = std::make_shared<Entry>();
  entry->frame = frame;
  entry->levels = levels;
  entries_.push_front(entry);
  if (entries_.size() > most_) entries_.pop_back();
  return entry;
}

std::shared_ptr<const FeaturePyramid> UnpackedFeatures::Of(const std::shared_ptr<const Frame>& frame,
                                                           int levels) {
  const std::shared_ptr<Entry> entry = Find(frame, levels);
  std::call_once(entry->once,
                 [&] { entry->features = UnpackFeatures(frame->features, frame->view->mask, levels); });
  return {entry, &entry->features};
}

}  // namespace lumen
