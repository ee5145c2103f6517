// Masks: which pixels are image content. An endoscope shows a circle, often cut off at the top or
// bottom, on a dark frame.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "lumen/image/image.h"

namespace lumen {

struct PixelBox {
  int x = 0, y = 0, width = 0, height = 0;
};

int64_t CountMask(ImageView<const uint8_t> mask);
PixelBox BoundingBox(ImageView<const uint8_t> mask);  // width 0 if the mask is empty

// Takes off the border `times` times with a 3×3 cross; pixels beyond the image count as content,
// so that only the mask's own border is taken off … unless `from_image_edge`.
Mask ErodeMask(ImageView<const uint8_t> mask, int times, bool from_image_edge = true);

// Convex hull, counter-clockwise in a y-up sense, without collinear points; and its area.
std::vector<Eigen::Vector2d> ConvexHull(std::vector<Eigen::Vector2d> points);
double PolygonArea(const std::vector<Eigen::Vector2d>& polygon);
Mask FillConvexHull(ImageView<const uint8_t> mask);

// Finds the lit region from a few frames of a video: what is brighter than the frame's dark border in
// any of them, largest connected part, holes and bays closed by its convex hull. The whole image if
// there is no dark border. Empty (all 0) if the frames are black.
Mask DetectLitRegion(const std::vector<RgbImage>& frames);

}  // namespace lumen
