#include "lumen/image/resize.h"

#include <algorithm>
#include <cmath>

namespace lumen {

namespace {

// For each target index: the source range it covers and the weight of each source pixel.
struct AxisWeights {
  std::vector<int> first;
  std::vector<std::vector<float>> weights;
};

AxisWeights MakeAxisWeights(int source, int target) {
  AxisWeights axis;
  const double ratio = static_cast<double>(source) / target;
  for (int i = 0; i < target; ++i) {
    const double begin = i * ratio;
    const double end = (i + 1) * ratio;
    const int first = static_cast<int>(begin);
    const int last = std::min(source, static_cast<int>(std::ceil(end - 1e-9)));
    std::vector<float> weights;
    for (int s = first; s < last; ++s) {
      weights.push_back(
          static_cast<float>((std::min(end, s + 1.0) - std::max(begin, static_cast<double>(s))) / ratio));
    }
    axis.first.push_back(first);
    axis.weights.push_back(std::move(weights));
  }
  return axis;
}

// Two passes: rows first (streams through the source once), then columns.
template <typename T>
Image<float> ResizeAreaToFloat(ImageView<const T> image, int width, int height) {
  LUMEN_CHECK(!image.Empty() && width > 0 && height > 0, width, "x", height);
  const int channels = image.Channels();
  const AxisWeights horizontal = MakeAxisWeights(image.Width(), width);
  const AxisWeights vertical = MakeAxisWeights(image.Height(), height);
  Image<float> out(width, height, channels);
  std::vector<float> row_sum(static_cast<size_t>(image.Width()) * channels);
  for (int y = 0; y < height; ++y) {
    std::fill(row_sum.begin(), row_sum.end(), 0.0F);
    for (size_t k = 0; k < vertical.weights[y].size(); ++k) {
      const T* source = image.Row(vertical.first[y] + static_cast<int>(k));
      const float weight = vertical.weights[y][k];
      for (size_t i = 0; i < row_sum.size(); ++i) row_sum[i] += weight * static_cast<float>(source[i]);
    }
    float* target = out.Row(y);
    for (int x = 0; x < width; ++x) {
      for (size_t k = 0; k < horizontal.weights[x].size(); ++k) {
        const float* source = &row_sum[(static_cast<size_t>(horizontal.first[x]) + k) * channels];
        for (int c = 0; c < channels; ++c) target[x * channels + c] += horizontal.weights[x][k] * source[c];
      }
    }
  }
  return out;
}

}  // namespace

Image<float> ResizeArea(ImageView<const float> image, int width, int height) {
  return ResizeAreaToFloat(image, width, height);
}

RgbImage ResizeArea(ImageView<const uint8_t> image, int width, int height) {
  const Image<float> exact = ResizeAreaToFloat(image, width, height);
  RgbImage out(width, height, image.Channels());
  for (size_t i = 0; i < out.Size(); ++i) {
    out.Data()[i] = static_cast<uint8_t>(std::clamp(exact.Data()[i] + 0.5F, 0.0F, 255.0F));
  }
  return out;
}

namespace {

template <typename T>
Image<T> TakeNearest(ImageView<const T> image, int width, int height) {
  LUMEN_CHECK(!image.Empty() && width > 0 && height > 0, width, "x", height);
  Image<T> out(width, height, image.Channels());
  for (int y = 0; y < height; ++y) {
    const int sy = std::min(image.Height() - 1, static_cast<int>((y + 0.5) * image.Height() / height));
    for (int x = 0; x < width; ++x) {
      const int sx = std::min(image.Width() - 1, static_cast<int>((x + 0.5) * image.Width() / width));
      std::copy_n(image.Pixel(sx, sy), image.Channels(), out.Pixel(x, y));
    }
  }
  return out;
}

}  // namespace

Mask ResizeNearest(ImageView<const uint8_t> image, int width, int height) {
  return TakeNearest(image, width, height);
}

Image<float> ResizeNearest(ImageView<const float> image, int width, int height) {
  return TakeNearest(image, width, height);
}

}  // namespace lumen
