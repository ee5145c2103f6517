// A CT of the body around a simulated organ, as a hospital has it: skin, fat, bone, other hollows, the table,
// noise. The organ's wall in it is the anatomy's own, so a surface seen in the organ has a true place in the
// volume.
#pragma once

#include "lumen/geometry/rigid3.h"
#include "lumen/scene/volume.h"
#include "lumen/sim/anatomy.h"

namespace lumen {

struct CtScanOptions {
  double pixel_mm = 1, slice_mm = 1;  // in the plane, and between slices
  double noise = 20;                  // HU, standard deviation
  double offset = 0, slope = 1;       // slope * HU + offset is stored
  bool fluid = false;  // a fifth of the organ's air is water, and some other hollows have a level
  bool table = true;
  double around = 0;  // mm of the body about the organ that are scanned; 0: all that a hospital would
  uint64_t seed = 1;  // of the body around the organ, and how it lies
};

// Where the organ was opened to its surroundings: what lies within the ball need not be the anatomy's wall.
struct OrganOpening {
  Eigen::Vector3d centre;  // LPS
  double radius;           // mm
};

struct SimulatedCt {
  Volume volume;
  Rigid3 lps_from_anatomy;
  std::vector<OrganOpening> openings;
};

// Throws InputError for spacings that no scanner has.
void CheckCtScan(const CtScanOptions& options);

// The patient lies on the back; the volume is the same for any number of threads.
SimulatedCt ScanBody(const Anatomy& organ, const CtScanOptions& options, int threads);

}  // namespace lumen
