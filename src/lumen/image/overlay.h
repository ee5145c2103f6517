// What recorders put over an endoscope's picture: text that stays where it is, and a second picture.
#pragma once

#include <optional>
#include <vector>

#include "lumen/image/mask.h"

namespace lumen {

// Of frames from all over a video: what is lit and never changes, with the gaps between its letters and a
// rim.
struct UnchangedPixels {
  Mask mask;
  double share = 0;  // of the content, before gaps and rim: near 1 where the camera stands still
};
UnchangedPixels FindUnchanged(const std::vector<RgbImage>& frames, ImageView<const uint8_t> content);

// A picture within the picture: a box with straight, upright sides (or the image's own borders), lit within
// and without, with something to see in it.
std::optional<PixelBox> FindInset(const std::vector<RgbImage>& frames);

}  // namespace lumen
