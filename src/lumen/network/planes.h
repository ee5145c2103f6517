// How the engine keeps a map: one plane per channel, each with a border of zeros, rounded up to whole
// 4×4 tiles. What lies outside the image is zero, so convolutions need no special cases at the edge.
#pragma once

#include <cstdint>

#include "lumen/image/image.h"

namespace lumen {

struct PlaneLayout {
  int width = 0, height = 0;

  int TilesX() const { return (width + 3) / 4; }
  int TilesY() const { return (height + 3) / 4; }
  int Stride() const { return 4 * TilesX() + 8; }
  int Rows() const { return 4 * TilesY() + 2; }
  int PlaneSize() const { return Rows() * Stride(); }
  // Of pixel (0, 0); pixel (x, y) lies at Origin() + y Stride() + x.
  int Origin() const { return Stride() + 4; }
  int At(int y) const { return Origin() + y * Stride(); }  // the first pixel of a row
  // Floats needed for so many channels, with slack for kernels that read whole vectors.
  size_t BufferSize(int channels) const {
    return static_cast<size_t>(channels) * static_cast<size_t>(PlaneSize()) + 64;
  }
};

}  // namespace lumen
