// Bilinear sampling of interleaved float images, with the interpolant's own derivative.
#pragma once

#include "lumen/image/image.h"

namespace lumen {

// The four pixels around (u, v) and their weights. Valid where all four exist.
struct BilinearCell {
  int x = 0, y = 0;
  float a = 0, b = 0;  // fractions towards x+1 and y+1
};

// False outside [0, width-1] × [0, height-1] and for NaN.
inline bool FindBilinearCell(double u, double v, int width, int height, BilinearCell& cell) {
  if (!(u >= 0 && v >= 0 && u <= width - 1 && v <= height - 1) || width < 2 || height < 2) return false;
  cell.x = static_cast<int>(u) < width - 1 ? static_cast<int>(u) : width - 2;
  cell.y = static_cast<int>(v) < height - 1 ? static_cast<int>(v) : height - 2;
  cell.a = static_cast<float>(u - cell.x);
  cell.b = static_cast<float>(v - cell.y);
  return true;
}

// Writes all channels at (u, v) to `values`; false (nothing written) outside.
bool SampleBilinear(ImageView<const float> image, double u, double v, float* values);

// Also writes the derivatives by u and v of the interpolated value.
bool SampleBilinear(ImageView<const float> image, double u, double v, float* values, float* by_u,
                    float* by_v);

}  // namespace lumen
