#include "lumen/image/pyramid.h"

#include <algorithm>

namespace lumen {

namespace {
constexpr float kKernel[4] = {1.0F / 8, 3.0F / 8, 3.0F / 8, 1.0F / 8};
}  // namespace

Image<float> DownsampleMasked(ImageView<const float> image, ImageView<const uint8_t> mask) {
  LUMEN_CHECK(SameSize(image, mask));
  const int channels = image.Channels();
  Image<float> out(image.Width() / 2, image.Height() / 2, channels);
  for (int y = 0; y < out.Height(); ++y) {
    for (int x = 0; x < out.Width(); ++x) {
      float* sum = out.Pixel(x, y);
      float total = 0;
      for (int j = 0; j < 4; ++j) {
        const int sy = 2 * y - 1 + j;
        for (int i = 0; i < 4; ++i) {
          const int sx = 2 * x - 1 + i;
          if (!image.Contains(sx, sy) || mask(sx, sy) == 0) continue;
          const float weight = kKernel[i] * kKernel[j];
          const float* source = image.Pixel(sx, sy);
          for (int c = 0; c < channels; ++c) sum[c] += weight * source[c];
          total += weight;
        }
      }
      if (total > 0) {
        for (int c = 0; c < channels; ++c) sum[c] /= total;
      }
    }
  }
  return out;
}

Mask DownsampleMask(ImageView<const uint8_t> mask) {
  Mask out(mask.Width() / 2, mask.Height() / 2);
  for (int y = 0; y < out.Height(); ++y) {
    for (int x = 0; x < out.Width(); ++x) {
      out(x, y) = std::max(
          {mask(2 * x, 2 * y), mask(2 * x + 1, 2 * y), mask(2 * x, 2 * y + 1), mask(2 * x + 1, 2 * y + 1)});
    }
  }
  return out;
}

std::vector<Image<float>> MakeMaskedPyramid(Image<float> image, const Mask& mask, int levels) {
  LUMEN_CHECK(levels >= 1 && SameSize(image, mask));
  std::vector<Image<float>> pyramid;
  pyramid.push_back(std::move(image));
  Mask level_mask = mask;
  for (int level = 1; level < levels; ++level) {
    pyramid.push_back(DownsampleMasked(pyramid.back(), level_mask));
    level_mask = DownsampleMask(level_mask);
  }
  return pyramid;
}

Image<float> InterleaveGradients(ImageView<const float> image, ImageView<const uint8_t> mask) {
  LUMEN_CHECK(SameSize(image, mask));
  const int channels = image.Channels();
  Image<float> out(image.Width(), image.Height(), 3 * channels);
  // The neighbour to take on one side, or the pixel itself where that neighbour does not count.
  const auto neighbour = [&](int x, int y, int dx, int dy) {
    const bool valid = image.Contains(x + dx, y + dy) && mask(x + dx, y + dy) != 0;
    return valid ? image.Pixel(x + dx, y + dy) : image.Pixel(x, y);
  };
  for (int y = 0; y < image.Height(); ++y) {
    for (int x = 0; x < image.Width(); ++x) {
      const float* centre = image.Pixel(x, y);
      const float* left = neighbour(x, y, -1, 0);
      const float* right = neighbour(x, y, 1, 0);
      const float* up = neighbour(x, y, 0, -1);
      const float* down = neighbour(x, y, 0, 1);
      const float scale_x = left != centre && right != centre ? 0.5F : 1.0F;
      const float scale_y = up != centre && down != centre ? 0.5F : 1.0F;
      float* pixel = out.Pixel(x, y);
      for (int c = 0; c < channels; ++c) {
        pixel[c] = centre[c];
        pixel[channels + c] = scale_x * (right[c] - left[c]);
        pixel[2 * channels + c] = scale_y * (down[c] - up[c]);
      }
    }
  }
  return out;
}

}  // namespace lumen
