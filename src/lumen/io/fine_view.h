// The view at twice or four times its size, where the source shows that much: what points are found and
// followed in, and surfaces coloured from. One bilinear sample a pixel, of boxes of source pixels where the
// source is finer still.
#pragma once

#include "lumen/geometry/camera.h"
#include "lumen/image/image.h"

namespace lumen {

class FineView {
 public:
  // `view` is the camera of the frames as everything else sees them; what lies further off the lens's axis
  // than `max_half_angle_degrees` stays black.
  FineView(const Camera& source, const Camera& view, double max_half_angle_degrees);

  int Times() const { return times_; }  // the view's size; 0: the source does not show more
  const Camera& TargetCamera() const { return target_; }
  // Empty where the source does not show more than the view.
  RgbImage Apply(ImageView<const uint8_t> rgb) const;

 private:
  struct Sample {
    int32_t x = -1, y = -1;  // in the boxes; x < 0: the lens does not see it
    uint16_t a = 0, b = 0;   // fractions in 1/256
  };

  Camera source_, target_;
  int times_ = 0;
  int box_ = 1;
  bool identity_ = false;
  std::vector<Sample> samples_;
};

}  // namespace lumen
