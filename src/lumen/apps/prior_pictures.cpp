#include "lumen/apps/prior_pictures.h"

#include <algorithm>

#include "lumen/image/colormap.h"

namespace lumen {

RgbImage DepthPicture(ImageView<const float> depth, ImageView<const uint8_t> mask) {
  std::vector<float> values;
  for (int y = 0; y < depth.Height(); ++y) {
    for (int x = 0; x < depth.Width(); ++x) {
      if (mask(x, y) != 0 && depth(x, y) > 0) values.push_back(depth(x, y));
    }
  }
  if (values.empty()) return RgbImage(depth.Width(), depth.Height(), 3);
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
  };
  // Near is bright: the map is read from its far end.
  Image<float> nearness(depth.Width(), depth.Height());
  for (size_t i = 0; i < nearness.Size(); ++i) nearness.Data()[i] = -depth.Data()[i];
  return ColorMap(nearness, -at(0.98), -at(0.02), mask);
}

RgbImage Enlarge(ImageView<const uint8_t> picture, int factor) {
  RgbImage out(picture.Width() * factor, picture.Height() * factor, picture.Channels());
  for (int y = 0; y < out.Height(); ++y) {
    for (int x = 0; x < out.Width(); ++x)
      std::copy_n(picture.Pixel(x / factor, y / factor), picture.Channels(), out.Pixel(x, y));
  }
  return out;
}

}  // namespace lumen
