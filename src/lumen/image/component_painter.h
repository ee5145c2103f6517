// A map of many channels as a picture a person can look at.
#pragma once

#include <Eigen/Core>

#include "lumen/image/image.h"

namespace lumen {

// The first three principal components of a map of many channels, as red, green and blue. The components
// are found once, on the first frame, so that colours stay the same along a sequence.
class ComponentPainter {
 public:
  RgbImage Paint(ImageView<const float> map, ImageView<const uint8_t> mask);

 private:
  void Fit(ImageView<const float> map, ImageView<const uint8_t> mask);

  Eigen::VectorXf mean_;
  Eigen::MatrixXf components_;  // 3 × channels, each scaled to unit spread
};

}  // namespace lumen
