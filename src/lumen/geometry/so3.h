// Rotations: exponential, logarithm and their Jacobians, good near zero and near pi.
#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>

namespace lumen {

using Vector6d = Eigen::Matrix<double, 6, 1>;
using Vector7d = Eigen::Matrix<double, 7, 1>;
using Matrix6d = Eigen::Matrix<double, 6, 6>;
using Matrix7d = Eigen::Matrix<double, 7, 7>;
using Matrix23d = Eigen::Matrix<double, 2, 3>;
using Matrix32d = Eigen::Matrix<double, 3, 2>;

Eigen::Matrix3d Hat(const Eigen::Vector3d& w);  // Hat(w) x = w × x
Eigen::Quaterniond ExpSO3(const Eigen::Vector3d& w);
Eigen::Vector3d LogSO3(const Eigen::Quaterniond& rotation);  // angle in [0, pi]

// Exp(w + dw) ≈ Exp(LeftJacobianSO3(w) dw) Exp(w). It is also V in t = V v of SE(3)'s exponential.
Eigen::Matrix3d LeftJacobianSO3(const Eigen::Vector3d& w);
Eigen::Matrix3d InverseLeftJacobianSO3(const Eigen::Vector3d& w);

// Angle of the rotation between two, in radians.
double RotationAngle(const Eigen::Quaterniond& a, const Eigen::Quaterniond& b);

}  // namespace lumen
