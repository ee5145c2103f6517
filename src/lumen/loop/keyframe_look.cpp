#include "lumen/loop/keyframe_look.h"

#include <algorithm>

#include "lumen/factors/pair_registration.h"

namespace lumen {

namespace {
constexpr size_t kKept = 8;  // some 8 MB each
}  // namespace

const DescriptorIndex& KeyframeLook::Index() const {
  std::call_once(index_once_, [&] { index_ = MakeDescriptorIndex(*keyframe_->frame); });
  return *index_;
}

const std::shared_ptr<const Frame>& KeyframeLook::UnpackedFrame() const {
  std::call_once(frame_once_, [&] { frame_ = UnpackFrame(keyframe_->frame); });
  return frame_;
}

const std::shared_ptr<const KeyframeSamples>& KeyframeLook::Samples() const {
  std::call_once(samples_once_, [&] {
    const auto pixels = SampleKeypoints(keyframe_->frame->view->eroded_mask, num_samples_, 1);
    samples_ = MakeKeyframeSamples(keyframe_, pixels);
  });
  return samples_;
}

std::shared_ptr<const KeyframeLook> KeyframeLooks::Of(const std::shared_ptr<const Keyframe>& keyframe) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(looks_.begin(), looks_.end(),
                                  [&](const auto& look) { return look->GetKeyframe() == keyframe; });
  if (found != looks_.end()) {
    std::rotate(found, found + 1, looks_.end());
  } else {
    if (looks_.size() == kKept) looks_.erase(looks_.begin());
    looks_.push_back(std::make_shared<const KeyframeLook>(keyframe, num_samples_));
  }
  return looks_.back();
}

}  // namespace lumen
