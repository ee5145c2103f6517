// Pictures of one camera as SLAM takes them: undistorted, at the networks' size, finer ones on demand. For
// who has frames from elsewhere, a frame grabber or another program; InputStream does the same for every
// input.
//
//   const FrameMaker maker(camera, mask);
//   Slam slam(priors, MakeView(maker.GetCamera(), maker.GetMask()));
//   slam.Process(maker.Make({index, seconds, picture}));
#pragma once

#include "lumen/io/fine_view.h"
#include "lumen/io/frame_source.h"
#include "lumen/io/rectifier.h"
#include "lumen/scene/frame.h"

namespace lumen {

class FrameMaker {
 public:
  // `content` is of the camera's size. Throws what Rectifier throws.
  FrameMaker(const Camera& camera, const Mask& content, const RectifierOptions& options = {});

  const Camera& SourceCamera() const { return source_; }
  const Camera& GetCamera() const { return rectifier_.TargetCamera(); }
  const Mask& GetMask() const { return rectifier_.TargetMask(); }

  InputFrame Make(RawFrame raw) const;
  // Of pixels that are only lent: `owner` keeps them as long as the frame needs them.
  InputFrame Make(int64_t index, double time, ImageView<const uint8_t> picture,
                  std::shared_ptr<const void> owner) const;

 private:
  Camera source_;
  Rectifier rectifier_;
  std::shared_ptr<const FineView> fine_;  // frames use it as long as they live
};

}  // namespace lumen
