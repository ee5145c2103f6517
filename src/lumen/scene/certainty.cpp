#include "lumen/scene/certainty.h"

#include "lumen/geometry/so3.h"

namespace lumen {

// A camera at (R, t) of a keyframe that moves by p, turns by w and grows by λ moves by p + w × t + λ t.
PlaceCovariance CarryCovariance(const PlaceCovariance& keyframe, const Rigid3& keyframe_from_camera) {
  const Eigen::Matrix3d back = keyframe_from_camera.RotationMatrix().transpose();
  const Eigen::Vector3d& t = keyframe_from_camera.Translation();
  Matrix7d carry = Matrix7d::Zero();
  carry.block<3, 3>(0, 0) = back;
  carry.block<3, 3>(0, 3) = -back * Hat(t);
  carry.block<3, 1>(0, 6) = back * t;
  carry.block<3, 3>(3, 3) = back;
  carry(6, 6) = 1;
  return carry * keyframe * carry.transpose();
}

}  // namespace lumen
