#include "lumen/geometry/sim3.h"

#include <cmath>

#include "lumen/base/error.h"

namespace lumen {

namespace {

// ∫₀¹ e^{σ u} Exp(u w) du, the matrix that carries v to the translation of Exp(v, w, σ).
// With ŵ² and ŵ³ = -a² ŵ it is  A I + B ŵ + C ŵ²,  where
//   A = ∫ e^{σu},  B = ∫ e^{σu} sin(a u) / a,  C = ∫ e^{σu} (1 - cos(a u)) / a².
Eigen::Matrix3d TranslationMatrix(const Eigen::Vector3d& w, double sigma) {
  const double a = w.norm();
  const double a2 = a * a;
  const double s2 = sigma * sigma;
  double coefficient_a;
  double coefficient_b;
  double coefficient_c;
  if (s2 + a2 < 1e-3) {
    // Series of e^{(σ + i a) u} integrated term by term: Σ z^n / (n+1)!, real and imaginary part.
    // Written for A, B, C separately so that nothing is divided by a small number.
    coefficient_a = coefficient_b = coefficient_c = 0;
    double power = 1;  // σ^n / n!
    for (int n = 0; n < 10; ++n) {
      coefficient_a += power / (n + 1);
      // ∫ u^n sin(au)/a = Σ (-1)^k a^{2k} / (2k+1)! / (n+2k+2); ∫ u^n (1-cos(au))/a² alike.
      double term = 1;
      for (int k = 0; k < 5; ++k) {
        coefficient_b += power * term / (n + 2 * k + 2);
        coefficient_c += power * term / ((2 * k + 2) * (n + 2 * k + 3.0));
        term *= -a2 / ((2 * k + 2.0) * (2 * k + 3.0));
      }
      power *= sigma / (n + 1);
    }
  } else {
    const double e = std::exp(sigma);
    coefficient_a = std::abs(sigma) < 1e-5 ? 1 + sigma / 2 + s2 / 6 : (e - 1) / sigma;
    if (a < 1e-4) {  // and σ is not small
      coefficient_b = (e * (sigma - 1) + 1) / s2;
      coefficient_c = (e * (s2 - 2 * sigma + 2) - 2) / (2 * s2 * sigma);
    } else {
      const double c = e * std::cos(a);
      const double s = e * std::sin(a);
      coefficient_b = (sigma * s + a - a * c) / (a * (s2 + a2));
      const double integral_cos = (sigma * (c - 1) + a * s) / (s2 + a2);
      coefficient_c = (coefficient_a - integral_cos) / a2;
    }
  }
  const Eigen::Matrix3d hat = Hat(w);
  return coefficient_a * Eigen::Matrix3d::Identity() + coefficient_b * hat + coefficient_c * hat * hat;
}

}  // namespace

Sim3::Sim3(double scale, const Eigen::Quaterniond& rotation, const Eigen::Vector3d& translation)
    : scale_(scale), rotation_(rotation.normalized()), translation_(translation) {
  LUMEN_CHECK(scale > 0, scale);
}

Sim3 Sim3::Exp(const Vector7d& tangent) {
  const Eigen::Vector3d w = tangent.segment<3>(3);
  const double sigma = tangent[6];
  return {std::exp(sigma), ExpSO3(w), TranslationMatrix(w, sigma) * tangent.head<3>()};
}

Vector7d Sim3::Log() const {
  Vector7d tangent;
  tangent.segment<3>(3) = LogSO3(rotation_);
  tangent[6] = std::log(scale_);
  tangent.head<3>() = TranslationMatrix(tangent.segment<3>(3), tangent[6]).inverse() * translation_;
  return tangent;
}

Eigen::Matrix4d Sim3::Matrix() const {
  Eigen::Matrix4d matrix = Eigen::Matrix4d::Identity();
  matrix.topLeftCorner<3, 3>() = scale_ * rotation_.toRotationMatrix();
  matrix.topRightCorner<3, 1>() = translation_;
  return matrix;
}

Sim3 Sim3::Inverse() const {
  const Eigen::Quaterniond inverse = rotation_.conjugate();
  return {1.0 / scale_, inverse, -(inverse * translation_) / scale_};
}

Sim3 Sim3::operator*(const Sim3& other) const {
  return {scale_ * other.scale_, rotation_ * other.rotation_, *this * other.translation_};
}

Rigid3 Sim3::TransformPose(const Rigid3& world_from_camera) const {
  return {rotation_ * world_from_camera.Rotation(), *this * world_from_camera.Translation()};
}

Matrix7d Sim3::Adjoint() const {
  const Eigen::Matrix3d rotation = rotation_.toRotationMatrix();
  Matrix7d adjoint = Matrix7d::Zero();
  adjoint.topLeftCorner<3, 3>() = scale_ * rotation;
  adjoint.block<3, 3>(0, 3) = Hat(translation_) * rotation;
  adjoint.topRightCorner<3, 1>() = -translation_;
  adjoint.block<3, 3>(3, 3) = rotation;
  adjoint(6, 6) = 1;
  return adjoint;
}

}  // namespace lumen
