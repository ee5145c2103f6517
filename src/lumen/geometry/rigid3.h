// Rigid transforms. `b_from_a * x_in_a` is x in b; names are written so that they cancel.
// A tangent vector is (v, w), translation before rotation, and acts on the left: Retract(d) = Exp(d) T.
#pragma once

#include "lumen/geometry/so3.h"

namespace lumen {

// Whether poses there can be turned and inverted: finite numbers near the largest cannot.
inline bool IsPlace(const Eigen::Vector3d& place) {
  constexpr double kFarthest = 1e300;
  return place.cwiseAbs().maxCoeff() <= kFarthest && place.allFinite();
}

class Rigid3 {
 public:
  using Tangent = Vector6d;
  static constexpr int kDimension = 6;

  Rigid3() : rotation_(Eigen::Quaterniond::Identity()), translation_(Eigen::Vector3d::Zero()) {}
  // The quaternion is normalised here, so a Rigid3 is always a rotation, whatever it was made from.
  Rigid3(const Eigen::Quaterniond& rotation, const Eigen::Vector3d& translation)
      : rotation_(rotation.normalized()), translation_(translation) {}
  Rigid3(const Eigen::Matrix3d& rotation, const Eigen::Vector3d& translation)
      : Rigid3(Eigen::Quaterniond(rotation), translation) {}

  static Rigid3 Exp(const Vector6d& tangent);
  Vector6d Log() const;

  const Eigen::Quaterniond& Rotation() const { return rotation_; }
  const Eigen::Vector3d& Translation() const { return translation_; }
  Eigen::Matrix3d RotationMatrix() const { return rotation_.toRotationMatrix(); }
  Eigen::Matrix4d Matrix() const;

  Rigid3 Inverse() const;
  Rigid3 operator*(const Rigid3& other) const;
  Eigen::Vector3d operator*(const Eigen::Vector3d& x) const { return rotation_ * x + translation_; }

  Rigid3 Retract(const Vector6d& tangent) const { return Exp(tangent) * *this; }
  Vector6d Local(const Rigid3& other) const { return (other * Inverse()).Log(); }  // Retract's inverse
  // T Exp(d) = Exp(Adjoint() d) T
  Matrix6d Adjoint() const;

 private:
  Eigen::Quaterniond rotation_;
  Eigen::Vector3d translation_;
};

}  // namespace lumen
