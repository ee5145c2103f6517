// Robust registration of two 3D point sets with known correspondences and many outliers, in the manner
// of TEASER++ (Yang, Shi, Carlone 2020): scale, rotation and translation are estimated one after the
// other from measurements that do not depend on the ones still unknown.
//   scale        adaptive voting over length ratios of point pairs
//   rotation     graduated non-convexity over directions of the pairs that agree with the scale
//   translation  adaptive voting per axis
// A last weighted least-squares fit over the inliers sharpens the result.
#pragma once

#include <string>
#include <vector>

#include "lumen/base/config.h"
#include "lumen/geometry/sim3.h"

namespace lumen {

// What is done about outliers before the rotation is estimated.
enum class InlierSelection {
  kNone,    // as the paper sets it up
  kClique,  // a large set of points whose pairs all agree: dearer, survives far more outliers
};

struct RegistrationOptions {
  bool estimate_scale = true;
  int scale_strides = 8;     // pairs per point in the scale's vote
  int rotation_strides = 1;  // pairs per point for the rotation; 1 is a chain
  int rotation_iterations = 20;
  double gnc_factor = 1.4;
  double gnc_cost_tolerance = 1e-4;
  InlierSelection selection = InlierSelection::kNone;
  int min_inliers = 4;

  void Describe(ConfigVisitor& visitor);
  // Setting for loop candidates, where most matches may be wrong.
  static RegistrationOptions ForManyOutliers();
};

enum class RegistrationStatus { kOk, kTooFewPoints, kDegenerate, kTooFewInliers };
std::string ToString(RegistrationStatus status);

struct RegistrationResult {
  RegistrationStatus status = RegistrationStatus::kTooFewPoints;
  Sim3 b_from_a;
  std::vector<int> inliers;  // indices, ascending
};

// noise_bounds[i]: how far b_i may lie from b_from_a * a_i and still be an inlier (in b's unit, > 0).
RegistrationResult EstimateRegistration(const std::vector<Eigen::Vector3d>& a,
                                        const std::vector<Eigen::Vector3d>& b,
                                        const std::vector<double>& noise_bounds,
                                        const RegistrationOptions& options = {});

}  // namespace lumen
