#include "lumen/image/sample.h"

namespace lumen {

bool SampleBilinear(ImageView<const float> image, double u, double v, float* values) {
  BilinearCell cell;
  if (!FindBilinearCell(u, v, image.Width(), image.Height(), cell)) return false;
  const int channels = image.Channels();
  const float* top = image.Pixel(cell.x, cell.y);
  const float* bottom = image.Pixel(cell.x, cell.y + 1);
  const float w00 = (1 - cell.a) * (1 - cell.b);
  const float w10 = cell.a * (1 - cell.b);
  const float w01 = (1 - cell.a) * cell.b;
  const float w11 = cell.a * cell.b;
  for (int c = 0; c < channels; ++c) {
    values[c] = w00 * top[c] + w10 * top[channels + c] + w01 * bottom[c] + w11 * bottom[channels + c];
  }
  return true;
}

bool SampleBilinear(ImageView<const float> image, double u, double v, float* values, float* by_u,
                    float* by_v) {
  BilinearCell cell;
  if (!FindBilinearCell(u, v, image.Width(), image.Height(), cell)) return false;
  const int channels = image.Channels();
  const float* top = image.Pixel(cell.x, cell.y);
  const float* bottom = image.Pixel(cell.x, cell.y + 1);
  for (int c = 0; c < channels; ++c) {
    const float f00 = top[c];
    const float f10 = top[channels + c];
    const float f01 = bottom[c];
    const float f11 = bottom[channels + c];
    const float upper = f00 + cell.a * (f10 - f00);
    const float lower = f01 + cell.a * (f11 - f01);
    values[c] = upper + cell.b * (lower - upper);
    by_u[c] = (1 - cell.b) * (f10 - f00) + cell.b * (f11 - f01);
    by_v[c] = lower - upper;
  }
  return true;
}

}  // namespace lumen
