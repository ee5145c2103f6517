// The numeric witness for every analytic Jacobian: central differences of a function of a vector.
// Used by tests of all rooms.
#pragma once

#include <Eigen/Core>

namespace lumen {

// d f / d x at x, column by column. `function` maps a VectorXd to a VectorXd.
template <typename Function>
Eigen::MatrixXd NumericJacobian(const Function& function, const Eigen::VectorXd& x, double step = 1e-6) {
  Eigen::MatrixXd jacobian;
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    Eigen::VectorXd forward = x;
    Eigen::VectorXd backward = x;
    forward[i] += step;
    backward[i] -= step;
    const Eigen::VectorXd column = (function(forward) - function(backward)) / (2 * step);
    if (jacobian.size() == 0) jacobian.resize(column.size(), x.size());
    jacobian.col(i) = column;
  }
  return jacobian;
}

// |a - b| relative to the larger of |b| and `floor`.
inline double RelativeError(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b, double floor = 1e-12) {
  return (a - b).norm() / std::max(b.norm(), floor);
}

}  // namespace lumen
