// What matching and aligning a keyframe need beyond what the keyframe keeps. Each part is made when it is
// first asked for; the looks of the last few keyframes stay, since a query is held against several references
// and the next query against mostly the same. Nothing here depends on any state.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "lumen/base/last_few.h"
#include "lumen/factors/keyframe_samples.h"
#include "lumen/scene/matching.h"

namespace lumen {

// May be asked from several threads.
class KeyframeLook {
 public:
  KeyframeLook(std::shared_ptr<const Keyframe> keyframe, int samples)
      : keyframe_(std::move(keyframe)), num_samples_(samples) {}

  const std::shared_ptr<const Keyframe>& GetKeyframe() const { return keyframe_; }
  const DescriptorIndex& Index() const;
  const std::shared_ptr<const Frame>& UnpackedFrame() const;      // as the target of an alignment
  const std::shared_ptr<const KeyframeSamples>& Samples() const;  // as its source

 private:
  std::shared_ptr<const Keyframe> keyframe_;
  int num_samples_;
  mutable std::once_flag index_once_, frame_once_, samples_once_;
  mutable std::optional<DescriptorIndex> index_;
  mutable std::shared_ptr<const Frame> frame_;
  mutable std::shared_ptr<const KeyframeSamples> samples_;
};

class KeyframeLooks {
 public:
  explicit KeyframeLooks(int samples) : num_samples_(samples), looks_(kKept) {}
  std::shared_ptr<const KeyframeLook> Of(const std::shared_ptr<const Keyframe>& keyframe);

 private:
  static constexpr size_t kKept = 8;  // some 8 MB each

  int num_samples_;
  LastFew<const KeyframeLook> looks_;
};

}  // namespace lumen
