#include "lumen/loop/keyframe_look.h"

#include "lumen/factors/pair_registration.h"

namespace lumen {

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
  return looks_.Of([&](const KeyframeLook& look) { return look.GetKeyframe() == keyframe; },
                   [&] { return std::make_shared<const KeyframeLook>(keyframe, num_samples_); });
}

}  // namespace lumen
