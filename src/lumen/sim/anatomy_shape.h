// What each anatomy must say about itself; one .cpp per anatomy. The shapes are drawn afresh for every
// seed: sizes, bends, bodies, folds.
#pragma once

#include <memory>
#include <vector>

#include "lumen/base/random.h"
#include "lumen/sim/distance_field.h"

namespace lumen {

class AnatomyShape : public HollowShape {
 public:
  virtual float Voxel() const = 0;                         // mm; fine enough for the shape's details
  virtual float Clearance() const = 0;                     // mm a camera keeps from the wall
  virtual Eigen::Vector3f Entry() const = 0;               // about where the scope comes in
  virtual std::vector<Eigen::Vector3f> Goals() const = 0;  // about where it may go, main way first
};

std::unique_ptr<AnatomyShape> MakeNasalShape(const Random& random);
std::unique_ptr<AnatomyShape> MakeColonShape(const Random& random);
std::unique_ptr<AnatomyShape> MakeBronchusShape(const Random& random);
std::unique_ptr<AnatomyShape> MakeStomachShape(const Random& random);

// About the distance to an ellipsoid with half-axes `radii` about the origin, positive outside.
inline float EllipsoidDistance(const Eigen::Vector3f& p, const Eigen::Vector3f& radii) {
  const Eigen::Vector3f scaled = p.cwiseQuotient(radii);
  const float k = scaled.norm();
  const float slope = scaled.cwiseQuotient(radii).norm();
  return slope < 1e-6F ? -radii.minCoeff() : k * (k - 1.0F) / slope;
}

inline float UniformFloat(Random& random, double low, double high) {
  return static_cast<float>(random.Uniform(low, high));
}

}  // namespace lumen
