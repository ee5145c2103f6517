#include "lumen/io/frame_maker.h"

#include "lumen/base/error.h"

namespace lumen {

FrameMaker::FrameMaker(const Camera& camera, const Mask& content, const RectifierOptions& options)
    : source_(camera),
      rectifier_(camera, content, options),
      fine_(std::make_shared<FineView>(camera, rectifier_.TargetCamera(), options.max_half_angle_degrees)) {}

InputFrame FrameMaker::Make(RawFrame raw) const {
  const auto picture = std::make_shared<const RgbImage>(std::move(raw.image));
  return Make(raw.index, raw.time, picture->View(), picture);
}

InputFrame FrameMaker::Make(int64_t index, double time, ImageView<const uint8_t> picture,
                            std::shared_ptr<const void> owner) const {
  if (picture.Width() != source_.Width() || picture.Height() != source_.Height() || picture.Channels() != 3)
    throw InputError(StrCat("frame ", index, " is ", picture.Width(), "x", picture.Height(),
                            ", the camera's pictures are ", source_.Width(), "x", source_.Height()));
  InputFrame frame{index, time, rectifier_.Apply(picture)};
  if (fine_->Times() > 0)
    frame.fine = [view = fine_, picture, owner = std::move(owner)] { return view->Apply(picture); };
  return frame;
}

}  // namespace lumen
