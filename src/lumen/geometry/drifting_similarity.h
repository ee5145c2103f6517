// A similarity whose scale drifts over space, as the scale of a monocular map does: x ↦ S (c + K(x − c)) with
//   K(y) = (y − b |y|²) / (1 − 2 b·y + |b|² |y|²),  2 b = the gradient of the logarithm of the scale at c.
// Depth and motion drift together, so near every point the map is still a similarity; of the smooth maps of
// space only these are (Liouville). K is additive in b.
#pragma once

#include "lumen/geometry/sim3.h"

namespace lumen {

class DriftingSimilarity {
 public:
  DriftingSimilarity() = default;
  // Without drift.
  DriftingSimilarity(const Sim3& similarity)  // NOLINT(google-explicit-constructor): a similarity is one
      : similarity_(similarity) {}
  // `drift`: gradient of log scale at `centre`, per unit of length of the frame that is mapped.
  DriftingSimilarity(const Sim3& similarity, const Eigen::Vector3d& centre, const Eigen::Vector3d& drift)
      : similarity_(similarity), centre_(centre), half_(0.5 * drift) {}

  const Sim3& AtCentre() const { return similarity_; }
  const Eigen::Vector3d& Centre() const { return centre_; }
  Eigen::Vector3d Drift() const { return 2 * half_; }

  Eigen::Vector3d operator*(const Eigen::Vector3d& x) const { return similarity_ * (centre_ + Bend(x)); }
  // K(x − c).
  Eigen::Vector3d Bend(const Eigen::Vector3d& x) const;
  // The similarity that the map is near x: its rotation and its scale, and all of it. What a camera at x
  // sees, however far away, is placed by the similarity there.
  Eigen::Matrix3d RotationAt(const Eigen::Vector3d& x) const;
  double ScaleAt(const Eigen::Vector3d& x) const;
  Sim3 At(const Eigen::Vector3d& x) const;

  // How At(seen_from) * x moves with the drift, (3×3) per unit of gradient; and how the similarity at x
  // turns.
  Eigen::Matrix3d PointByDrift(const Eigen::Vector3d& x, const Eigen::Vector3d& seen_from) const;
  Eigen::Matrix3d TurnByDrift(const Eigen::Vector3d& x) const;

 private:
  Sim3 similarity_;
  Eigen::Vector3d centre_ = Eigen::Vector3d::Zero();
  Eigen::Vector3d half_ = Eigen::Vector3d::Zero();
};

}  // namespace lumen
