#include "lumen/geometry/drifting_similarity.h"

namespace lumen {

using Eigen::Matrix3d;
using Eigen::Vector3d;

Vector3d DriftingSimilarity::Bend(const Vector3d& x) const {
  const Vector3d y = x - centre_;
  const double squared = y.squaredNorm();
  return (y - half_ * squared) / (1 - 2 * half_.dot(y) + half_.squaredNorm() * squared);
}

// K is an inversion, a move by −b and an inversion again; each inversion mirrors.
Matrix3d DriftingSimilarity::RotationAt(const Vector3d& x) const {
  const Matrix3d outer = similarity_.Rotation().toRotationMatrix();
  const Vector3d y = x - centre_;
  const double squared = y.squaredNorm();
  const Vector3d inner = y - half_ * squared;
  if (!(inner.squaredNorm() > 0)) return outer;  // at the centre itself
  const auto mirror = [](const Vector3d& v) -> Matrix3d {
    return Matrix3d::Identity() - 2 / v.squaredNorm() * v * v.transpose();
  };
  return outer * mirror(inner) * mirror(y);
}

double DriftingSimilarity::ScaleAt(const Vector3d& x) const {
  const Vector3d y = x - centre_;
  return similarity_.Scale() / (1 - 2 * half_.dot(y) + half_.squaredNorm() * y.squaredNorm());
}

Sim3 DriftingSimilarity::At(const Vector3d& x) const {
  if (half_.isZero()) return similarity_;
  const Matrix3d rotation = RotationAt(x);
  const double scale = ScaleAt(x);
  return {scale, Eigen::Quaterniond(rotation), *this * x - scale * (rotation * x)};
}

// The place it is seen from moves; the arm from there to x turns, and grows by ∂ log scale = K.
Matrix3d DriftingSimilarity::PointByDrift(const Vector3d& x, const Vector3d& seen_from) const {
  const Vector3d y = Bend(seen_from);
  const Matrix3d place = similarity_.Scale() * similarity_.Rotation().toRotationMatrix() *
                         (y * y.transpose() - 0.5 * y.squaredNorm() * Matrix3d::Identity());
  const Vector3d arm = ScaleAt(seen_from) * (RotationAt(seen_from) * (x - seen_from));
  return place - Hat(arm) * TurnByDrift(seen_from) + arm * y.transpose();
}

Matrix3d DriftingSimilarity::TurnByDrift(const Vector3d& x) const {
  return similarity_.Rotation().toRotationMatrix() * -Hat(Bend(x));
}

}  // namespace lumen
