#include "lumen/image/colormap.h"

#include <algorithm>
#include <cmath>

namespace lumen {

std::array<uint8_t, 3> MapColor(double t) {
  static constexpr double kAnchors[10][3] = {{68, 1, 84},    {72, 40, 120},  {62, 74, 137},  {49, 104, 142},
                                             {38, 130, 142}, {31, 158, 137}, {53, 183, 121}, {109, 205, 89},
                                             {180, 222, 44}, {253, 231, 37}};
  const double place = std::isfinite(t) ? std::clamp(t, 0.0, 1.0) * 9 : 0.0;
  const int low = std::min(static_cast<int>(place), 8);
  const double share = place - low;
  std::array<uint8_t, 3> color{};
  for (int c = 0; c < 3; ++c) {
    color[static_cast<size_t>(c)] =
        static_cast<uint8_t>(std::lround((1 - share) * kAnchors[low][c] + share * kAnchors[low + 1][c]));
  }
  return color;
}

RgbImage ColorMap(ImageView<const float> values, double low, double high, ImageView<const uint8_t> mask) {
  LUMEN_CHECK(values.Channels() == 1 && (mask.Empty() || SameSize(values, mask)));
  RgbImage picture(values.Width(), values.Height(), 3);
  const double span = high > low ? high - low : 1.0;
  for (int y = 0; y < values.Height(); ++y) {
    for (int x = 0; x < values.Width(); ++x) {
      if (!mask.Empty() && mask(x, y) == 0) continue;
      const auto color = MapColor((values(x, y) - low) / span);
      std::copy(color.begin(), color.end(), picture.Pixel(x, y));
    }
  }
  return picture;
}

}  // namespace lumen
