// Masks, images and weights that the tests of the networks share.
#pragma once

#include <algorithm>
#include <cmath>

#include "lumen/base/random.h"
#include "lumen/image/image.h"
#include "lumen/network/weights.h"

namespace lumen {

enum class MaskKind { kFull, kCircle, kRagged };

inline Mask MakeMask(MaskKind kind, int width, int height) {
  Mask mask(width, height, 1, 255);
  Random random(3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const bool inside = std::hypot(x - 0.5 * width, y - 0.5 * height) < 0.42 * height;
      if (kind == MaskKind::kCircle && !inside) mask(x, y) = 0;
      if (kind == MaskKind::kRagged && (random.Chance(0.1) || (x / 20 + y / 20) % 5 == 0)) mask(x, y) = 0;
    }
  }
  return mask;
}

inline RgbImage MakeImage(int width, int height) {
  Random random(4);
  RgbImage image(width, height, 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        image(x, y, c) = static_cast<uint8_t>(std::clamp(
            120 + 80 * std::sin(0.07 * x + c) * std::cos(0.09 * y) + random.Normal(0, 10), 0.0, 255.0));
      }
    }
  }
  return image;
}

// Trained networks have norms and biases that are not trivial: neither should these.
inline std::map<std::string, Tensor> MakeTensors(const NetworkSpec& spec) {
  std::map<std::string, Tensor> tensors = MakeRandomTensors(spec, 5);
  Random random(6);
  for (auto& [name, tensor] : tensors) {
    if (tensor.shape.size() == 4) continue;
    for (float& value : tensor.values) value += static_cast<float>(random.Normal(0, 0.1));
  }
  // A depth whose median means something: mostly on the positive side of the last norm.
  if (tensors.contains("depth.average.2.norm.bias")) {
    tensors.at("depth.average.2.norm.bias").values[0] = 3;
    tensors.at("depth.average.2.conv2.bias").values[0] = 0.5F;
  }
  return tensors;
}

inline double LargestDifference(const Image<float>& a, const Image<float>& b) {
  LUMEN_CHECK(SameSize(a, b) && a.Channels() == b.Channels());
  double largest = 0;
  for (size_t i = 0; i < a.Size(); ++i)
    largest = std::max(largest, static_cast<double>(std::abs(a.Data()[i] - b.Data()[i])));
  return largest;
}

inline double Largest(const Image<float>& image) {
  double largest = 0;
  for (size_t i = 0; i < image.Size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(image.Data()[i])));
  return largest;
}

inline double Median(const Image<float>& image) {
  std::vector<float> values;
  for (size_t i = 0; i < image.Size(); ++i) {
    if (image.Data()[i] != 0) values.push_back(image.Data()[i]);
  }
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

}  // namespace lumen
