// Mucosa as a procedural material: colour, relief and wetness at a point of the wall, fixed to the wall
// (the same from any view).
#pragma once

#include "lumen/sim/appearance.h"
#include "lumen/sim/noise.h"

namespace lumen {

struct WallPoint {
  Eigen::Vector3f position;
  Eigen::Vector3f normal;  // unit, into the air
  float curvature = 0;     // 1/mm, positive on bulges into the air
  float footprint = 0;     // mm covered by one pixel: finer detail is left out
};

struct TissueSample {
  Color albedo;
  Eigen::Vector3f normal;      // with the relief
  Eigen::Vector3f wet_normal;  // of the film on it
  float gloss = 0;             // strength of the highlight
  float roughness = 0.2F;
};

class Tissue {
 public:
  Tissue(const TissueOptions& options, uint64_t seed);
  TissueSample Evaluate(const WallPoint& point) const;
  const TissueOptions& Options() const { return options_; }

 private:
  float BloodAt(const WallPoint& point, const Eigen::Vector3f& q) const;
  float VesselAt(const WallPoint& point, const Eigen::Vector3f& q, float wavelength) const;

  TissueOptions options_;
  NoiseVolume noise_;
};

}  // namespace lumen
