#include "lumen/geometry/so3.h"

#include <cmath>

namespace lumen {

namespace {
// Below this angle series replace quotients such as (1 - cos a) / a²; at 1e-4 their next term is < 1e-17.
constexpr double kSmallAngle = 1e-4;
}  // namespace

Eigen::Matrix3d Hat(const Eigen::Vector3d& w) {
  Eigen::Matrix3d hat;
  hat << 0, -w.z(), w.y(), w.z(), 0, -w.x(), -w.y(), w.x(), 0;
  return hat;
}

Eigen::Quaterniond ExpSO3(const Eigen::Vector3d& w) {
  const double angle = w.norm();
  const double scale = angle < kSmallAngle ? 0.5 - angle * angle / 48.0 : std::sin(0.5 * angle) / angle;
  const Eigen::Vector3d v = scale * w;
  return Eigen::Quaterniond(std::cos(0.5 * angle), v.x(), v.y(), v.z()).normalized();
}

Eigen::Vector3d LogSO3(const Eigen::Quaterniond& rotation) {
  const double sign = rotation.w() < 0 ? -1.0 : 1.0;
  const Eigen::Vector3d v = sign * rotation.vec();
  const double w = sign * rotation.w();
  const double norm = v.norm();
  // atan2 stays exact up to pi, where acos of the trace loses half its digits.
  if (norm < 0.5 * kSmallAngle) return (2.0 / w) * (1.0 - norm * norm / (3.0 * w * w)) * v;
  return (2.0 * std::atan2(norm, w) / norm) * v;
}

Eigen::Matrix3d LeftJacobianSO3(const Eigen::Vector3d& w) {
  const double a2 = w.squaredNorm();
  const double a = std::sqrt(a2);
  const double b = a < kSmallAngle ? 0.5 - a2 / 24.0 : (1.0 - std::cos(a)) / a2;
  const double c = a < kSmallAngle ? 1.0 / 6.0 - a2 / 120.0 : (a - std::sin(a)) / (a2 * a);
  const Eigen::Matrix3d hat = Hat(w);
  return Eigen::Matrix3d::Identity() + b * hat + c * hat * hat;
}

Eigen::Matrix3d InverseLeftJacobianSO3(const Eigen::Vector3d& w) {
  const double a2 = w.squaredNorm();
  const double a = std::sqrt(a2);
  // 1/a² - cot(a/2) / (2a), with the half angle so that it is finite at pi.
  const double c =
      a < 1e-3 ? 1.0 / 12.0 + a2 / 720.0 : 1.0 / a2 - std::cos(0.5 * a) / (2.0 * a * std::sin(0.5 * a));
  const Eigen::Matrix3d hat = Hat(w);
  return Eigen::Matrix3d::Identity() - 0.5 * hat + c * hat * hat;
}

double RotationAngle(const Eigen::Quaterniond& a, const Eigen::Quaterniond& b) {
  return LogSO3(a.conjugate() * b).norm();
}

}  // namespace lumen
