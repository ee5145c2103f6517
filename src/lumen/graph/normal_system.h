// The normal equations of a whole graph: blocks scattered into one symmetric matrix, dense while small,
// sparse (Cholesky with a fill-reducing order) beyond.
#pragma once

#include <Eigen/SparseCholesky>
#include <optional>
#include <unordered_map>

#include "lumen/graph/factor.h"

namespace lumen {

class NormalSystem {
 public:
  // Over all variables of `values` that the factors touch.
  NormalSystem(const FactorGraph& factors, const Values& values);

  const BlockLayout& Layout() const { return layout_; }
  void Assemble(const std::vector<NormalBlock>& blocks);
  double Error() const { return error_; }
  int64_t Count() const { return count_; }
  const Eigen::VectorXd& Gradient() const { return gradient_; }
  // Marquardt's step: (H + damping · diag(H)) d = -b. Nothing if the matrix cannot be factored or the
  // step is not finite.
  std::optional<Eigen::VectorXd> Solve(double damping);
  // The gradient of the quadratic model after a step d: b ← b + H d.
  void AdvanceGradient(const Eigen::VectorXd& step);
  Eigen::MatrixXd DenseHessian() const;

 private:
  Eigen::VectorXd DampingDiagonal() const;

  BlockLayout layout_;
  std::unordered_map<Key, int, KeyHash> index_;
  bool is_dense_ = true;
  Eigen::MatrixXd dense_;
  Eigen::SparseMatrix<double> sparse_;  // lower triangle
  Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>, Eigen::Lower> solver_;
  bool pattern_is_known_ = false;
  Eigen::VectorXd gradient_;
  double error_ = 0;
  int64_t count_ = 0;
};

}  // namespace lumen
