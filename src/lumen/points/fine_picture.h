// A frame's fine grey picture with its halvings, as points are followed in it.
#pragma once

#include <vector>

#include "lumen/geometry/camera.h"
#include "lumen/image/image.h"

namespace lumen {

struct FinePicture {
  static constexpr int kLevels = 4;
  static constexpr int kMiddle = 128;    // what a pixel as bright as its surroundings becomes
  static constexpr int kContrast = 256;  // levels for twice their brightness

  Image<uint8_t> grey;                 // as it came
  std::vector<Image<uint8_t>> levels;  // against the brightness around each pixel; the finest first

  int NumLevels() const { return static_cast<int>(levels.size()); }
};

FinePicture MakeFinePicture(Image<uint8_t> finest, int levels = FinePicture::kLevels);

// A pixel of the finest level on another one; pixel centres lie at integers.
inline Eigen::Vector2d AtLevel(const Eigen::Vector2d& pixel, int level) {
  const double scale = 1.0 / (1 << level);
  return (pixel.array() + 0.5) * scale - 0.5;
}
inline Eigen::Vector2d FromLevel(const Eigen::Vector2d& pixel, int level) {
  return (pixel.array() + 0.5) * (1 << level) - 0.5;
}

}  // namespace lumen
