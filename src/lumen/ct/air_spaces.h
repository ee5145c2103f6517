// The air spaces inside the body of a CT, each a model that a surface may be registered to: what lies outside
// the body is taken off, what opens to it is closed, lungs are told from the airways within them.
#pragma once

#include <Eigen/Geometry>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "lumen/ct/tissue_levels.h"
#include "lumen/scene/mesh.h"

namespace lumen {

struct AirSpaceOptions {
  double threshold = std::numeric_limits<double>::quiet_NaN();  // between air and tissue; none: by the values
  double least_ml = 0.5;                                        // smaller ones are only counted
  int most = 30;                                                // the largest
};

enum class AirSpaceKind {
  kCavity,
  kLungs,   // tissue full of air: no scope goes there
  kAirway,  // the hollow way into the lungs
};

struct AirSpace {
  int number = 0;  // 1: the largest
  AirSpaceKind kind = AirSpaceKind::kCavity;
  std::string place;  // in the body: "front, left, upper"
  TriangleMesh wall;  // facing the air, with normals; LPS, mm
  double volume_ml = 0, area_cm2 = 0;
  double widest_mm = 0;  // across the largest ball in it
  Eigen::AlignedBox3d box;
  // cm² that are no wall: where it opens out of the body, and where the volume ends.
  double open_cm2 = 0, cut_cm2 = 0;
  std::vector<std::string> notes;  // what may have joined, or be missing
};

struct AirSpaces {
  TissueLevels levels;
  double threshold = 0;
  std::vector<AirSpace> spaces;  // largest first
  int small = 0;                 // how many were too small, or too many
  double small_ml = 0;
  std::vector<std::string> notes;  // about the volume
};

// Throws InputError, naming the source, for what is no CT of a body: a scout, or values that do not tell air
// from tissue.
AirSpaces FindAirSpaces(const Volume& volume, const std::string& name, const AirSpaceOptions& options,
                        int threads);

}  // namespace lumen
