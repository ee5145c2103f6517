// A surface, or a cloud of points, seen from all around: pictures for a report that must not need any
// program to be looked at. A plain z-buffer; lit from the eye, both sides of a wall alike, since an organ is
// seen from inside and from outside.
#pragma once

#include "lumen/image/image.h"
#include "lumen/scene/mesh.h"

namespace lumen {

struct TurntableOptions {
  int width = 640, height = 400;
  int views = 36;
  double tilt_degrees = 20;  // how far the eye stands above the turning plane
  uint8_t background = 255;
};

// Turns about the object's longest direction, which lies across the picture. No pictures for an empty mesh.
std::vector<RgbImage> RenderTurntable(const TriangleMesh& mesh, const TurntableOptions& options = {});

}  // namespace lumen
