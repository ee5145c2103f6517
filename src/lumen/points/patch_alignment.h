// Finds the surroundings of a pixel of one picture in another, to a fraction of a pixel: Lucas and Kanade's
// alignment of a patch under a known affine map, from coarse to fine, free of brightness and contrast.
#pragma once

#include <optional>

#include "lumen/base/config.h"
#include "lumen/points/fine_picture.h"

namespace lumen {

struct PatchOptions {
  int coarse_levels = 3;        // halvings the search begins at
  int iterations = 12;          // a level
  double converged = 0.02;      // pixels
  double least_likeness = 0.8;  // correlation of the two patches
  double floor = 0.15;          // pixels: no sighting is better than that
  double correlated = 4;        // how many times fewer pixels there are, seen as independent ones

  void Describe(ConfigVisitor& visitor);
};

// Where a patch is thought to lie: its centre, and what the map does to small steps around it.
struct PatchGuess {
  Eigen::Vector2d centre{0, 0};  // in the target's finest level
  Eigen::Matrix2d affine = Eigen::Matrix2d::Identity();
};

struct PatchFit {
  Eigen::Vector2d centre{0, 0};                              // in the target's finest level
  Eigen::Matrix2d covariance = Eigen::Matrix2d::Identity();  // of it, pixels²
  double likeness = 0;
};

// How far the surroundings of `pixel` in the source would shift, by one step, from where the guess has them;
// nothing where they cannot be compared. In the target's finest pixels.
std::optional<double> ShiftOfPatch(const FinePicture& source, const Eigen::Vector2d& pixel,
                                   const FinePicture& target, const PatchGuess& guess);

// Nothing where the patch leaves a picture, differs too much in size, or does not look alike.
std::optional<PatchFit> AlignPatch(const FinePicture& source, const Eigen::Vector2d& pixel,
                                   const FinePicture& target, const PatchGuess& guess,
                                   const PatchOptions& options = {});

}  // namespace lumen
