#include "lumen/geometry/rigid3.h"

namespace lumen {

Rigid3 Rigid3::Exp(const Vector6d& tangent) {
  const Eigen::Vector3d w = tangent.tail<3>();
  return {ExpSO3(w), LeftJacobianSO3(w) * tangent.head<3>()};
}

Vector6d Rigid3::Log() const {
  Vector6d tangent;
  tangent.tail<3>() = LogSO3(rotation_);
  tangent.head<3>() = InverseLeftJacobianSO3(tangent.tail<3>()) * translation_;
  return tangent;
}

Eigen::Matrix4d Rigid3::Matrix() const {
  Eigen::Matrix4d matrix = Eigen::Matrix4d::Identity();
  matrix.topLeftCorner<3, 3>() = RotationMatrix();
  matrix.topRightCorner<3, 1>() = translation_;
  return matrix;
}

Rigid3 Rigid3::Inverse() const {
  const Eigen::Quaterniond inverse = rotation_.conjugate();
  return {inverse, -(inverse * translation_)};
}

Rigid3 Rigid3::operator*(const Rigid3& other) const {
  return {rotation_ * other.rotation_, rotation_ * other.translation_ + translation_};
}

Matrix6d Rigid3::Adjoint() const {
  const Eigen::Matrix3d rotation = RotationMatrix();
  Matrix6d adjoint = Matrix6d::Zero();
  adjoint.topLeftCorner<3, 3>() = rotation;
  adjoint.topRightCorner<3, 3>() = Hat(translation_) * rotation;
  adjoint.bottomRightCorner<3, 3>() = rotation;
  return adjoint;
}

}  // namespace lumen
