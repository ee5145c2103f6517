// Bilinear cells for the factors. Unlike image/sample.h they go on beyond the outermost pixel centres (by
// the half pixel that still belongs to the image, more on coarse levels) with the border cell's own
// plane, so that value and derivative belong together everywhere; and they can be double.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace lumen {

template <typename T>
struct Cell {
  int x = 0, y = 0;  // the upper left of the four pixels
  T a = 0, b = 0;    // fractions towards x+1 and y+1

  // Of the pixels (x, y), (x+1, y), (x, y+1), (x+1, y+1).
  std::array<T, 4> Weights() const { return {(1 - a) * (1 - b), a * (1 - b), (1 - a) * b, a * b}; }
  // Their derivatives by u and v.
  std::array<T, 4> WeightsByU() const { return {b - 1, 1 - b, -b, b}; }
  std::array<T, 4> WeightsByV() const { return {a - 1, -a, 1 - a, a}; }
  int PixelIndex(int width) const { return y * width + x; }
};

// (u, v) lies at most a pixel outside; images are at least 2×2.
template <typename T>
Cell<T> CellAt(double u, double v, int width, int height) {
  const int x = std::clamp(static_cast<int>(std::floor(u)), 0, width - 2);
  const int y = std::clamp(static_cast<int>(std::floor(v)), 0, height - 2);
  return {x, y, static_cast<T>(u - x), static_cast<T>(v - y)};
}

// Where a level-0 coordinate lies on a level that is smaller by the power of two `scale`.
inline double AtLevelScale(double u, double scale) { return (u + 0.5) / scale - 0.5; }

// Σ weights · image at the cell's four pixels, for one of `stride` interleaved channels.
template <typename T, typename Pixel>
T Blend(const Pixel* image, int pixel, int width, int stride, const std::array<T, 4>& weights) {
  const Pixel* top = image + static_cast<ptrdiff_t>(pixel) * stride;
  const Pixel* bottom = top + static_cast<ptrdiff_t>(width) * stride;
  return weights[0] * static_cast<T>(top[0]) + weights[1] * static_cast<T>(top[stride]) +
         weights[2] * static_cast<T>(bottom[0]) + weights[3] * static_cast<T>(bottom[stride]);
}

}  // namespace lumen
