#include "lumen/points/fine_picture.h"

#include <algorithm>
#include <cstdlib>

namespace lumen {

namespace {

constexpr int kBrightnessReach = 12;  // pixels around that brightness is taken over
constexpr int kMiddle = FinePicture::kMiddle;
constexpr int kContrast = FinePicture::kContrast;
constexpr int kLeastBrightness = 4;

Image<uint8_t> Halve(const Image<uint8_t>& fine) {
  Image<uint8_t> half(fine.Width() / 2, fine.Height() / 2);
  for (int y = 0; y < half.Height(); ++y) {
    const uint8_t* above = fine.Row(2 * y);
    const uint8_t* below = fine.Row(2 * y + 1);
    uint8_t* out = half.Row(y);
    for (int x = 0; x < half.Width(); ++x) {
      const int sum = above[2 * x] + above[2 * x + 1] + below[2 * x] + below[2 * x + 1];
      out[x] = static_cast<uint8_t>((sum + 2) / 4);
    }
  }
  return half;
}

// Each pixel against the mean of those around it, so that light that falls off, or moves with the scope,
// does not move what is seen.
Image<uint8_t> AgainstSurroundings(const Image<uint8_t>& grey) {
  const int width = grey.Width(), height = grey.Height();
  Image<uint8_t> out(width, height);
  std::vector<int32_t> columns(static_cast<size_t>(width), 0);
  const auto add = [&](int y, int32_t sign) {
    const uint8_t* row = grey.Row(y);
    for (int x = 0; x < width; ++x) columns[static_cast<size_t>(x)] += sign * row[x];
  };
  for (int y = 0; y < std::min(kBrightnessReach, height); ++y) add(y, 1);
  for (int y = 0; y < height; ++y) {
    if (y + kBrightnessReach < height) add(y + kBrightnessReach, 1);
    const int rows = std::min(y + kBrightnessReach, height - 1) - std::max(y - kBrightnessReach, 0) + 1;
    int32_t sum = 0;
    for (int x = 0; x < std::min(kBrightnessReach, width); ++x) sum += columns[static_cast<size_t>(x)];
    const uint8_t* in = grey.Row(y);
    uint8_t* to = out.Row(y);
    for (int x = 0; x < width; ++x) {
      if (x + kBrightnessReach < width) sum += columns[static_cast<size_t>(x + kBrightnessReach)];
      const int count =
          rows * (std::min(x + kBrightnessReach, width - 1) - std::max(x - kBrightnessReach, 0) + 1);
      const int32_t brightness = std::max(sum, kLeastBrightness * count);
      const int32_t share =
          static_cast<int32_t>(static_cast<int64_t>(kContrast) * in[x] * count / brightness);
      to[x] = static_cast<uint8_t>(std::clamp(kMiddle + share - kContrast, 0, 255));
      if (x >= kBrightnessReach) sum -= columns[static_cast<size_t>(x - kBrightnessReach)];
    }
    if (y >= kBrightnessReach) add(y - kBrightnessReach, -1);
  }
  return out;
}

}  // namespace

FinePicture MakeFinePicture(Image<uint8_t> finest, int levels) {
  FinePicture picture;
  picture.grey = std::move(finest);
  Image<uint8_t> grey = picture.grey;
  for (int level = 0; level < levels; ++level) {
    if (level > 0) grey = Halve(grey);
    picture.levels.push_back(AgainstSurroundings(grey));
  }
  return picture;
}

}  // namespace lumen
