// Where a picture can be found again: pixels whose surroundings change in every direction (Shi and Tomasi),
// the best of each cell of a grid.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "lumen/base/config.h"
#include "lumen/points/fine_picture.h"

namespace lumen {

struct CornerOptions {
  int count = 320;      // cells that are looked at, about
  double least = 0.3;   // the weaker gradient's mean square around a corner, in grey levels² a pixel²
  int saturated = 245;  // grey level of highlights, which belong to the light and not to the tissue
  double glare = 0.3;   // and how much brighter than their surroundings they are

  void Describe(ConfigVisitor& visitor);
};

// `content` may be of a smaller size than the picture: a pixel counts as what lies nearest there.
std::vector<Eigen::Vector2i> FindCorners(const FinePicture& fine, const Mask& content,
                                         const CornerOptions& options = {});

}  // namespace lumen
