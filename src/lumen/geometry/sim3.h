// Similarity transforms x ↦ s R x + t. A tangent vector is (v, w, log s), translation first, acting on
// the left: Retract(d) = Exp(d) S.
#pragma once

#include "lumen/geometry/rigid3.h"

namespace lumen {

class Sim3 {
 public:
  using Tangent = Vector7d;
  static constexpr int kDimension = 7;

  Sim3() : rotation_(Eigen::Quaterniond::Identity()), translation_(Eigen::Vector3d::Zero()) {}
  Sim3(double scale, const Eigen::Quaterniond& rotation, const Eigen::Vector3d& translation);
  explicit Sim3(const Rigid3& rigid) : Sim3(1.0, rigid.Rotation(), rigid.Translation()) {}

  static Sim3 Exp(const Vector7d& tangent);
  Vector7d Log() const;

  double Scale() const { return scale_; }
  const Eigen::Quaterniond& Rotation() const { return rotation_; }
  const Eigen::Vector3d& Translation() const { return translation_; }
  Eigen::Matrix4d Matrix() const;

  Sim3 Inverse() const;
  Sim3 operator*(const Sim3& other) const;
  Eigen::Vector3d operator*(const Eigen::Vector3d& x) const {
    return scale_ * (rotation_ * x) + translation_;
  }
  // Moves a camera: its centre by the whole similarity, its orientation by the rotation.
  Rigid3 TransformPose(const Rigid3& world_from_camera) const;

  Sim3 Retract(const Vector7d& tangent) const { return Exp(tangent) * *this; }
  Vector7d Local(const Sim3& other) const { return (other * Inverse()).Log(); }
  Matrix7d Adjoint() const;

 private:
  double scale_ = 1;
  Eigen::Quaterniond rotation_;
  Eigen::Vector3d translation_;
};

}  // namespace lumen
