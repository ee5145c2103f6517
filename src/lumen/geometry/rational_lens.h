// OpenCV's longer lists of distortion coefficients, as the five of a RadTanCamera.
#pragma once

#include <optional>
#include <vector>

#include "lumen/geometry/camera.h"

namespace lumen {

// k1 k2 p1 p2 [k3 [k4 k5 k6 […]]]: up to five are taken as they are. k4 to k6 divide (the rational model);
// the polynomial that comes nearest over the picture takes their place. Nothing if that is off by half a
// pixel somewhere, or if coefficients beyond the eighth (thin prisms, a tilted sensor) are not zero.
std::optional<RadTanCamera> RadTanFromCoefficients(const PinholeCamera& pinhole,
                                                   const std::vector<double>& coefficients, int width,
                                                   int height);

}  // namespace lumen
