// The quadratic model of a factor around a point, and the one place where its blocks are laid out:
//   error(d) ≈ error + bᵀ d + ½ dᵀ H d,   d = the keys' tangents, one after the other.
// So b is the gradient of the error, H (an approximation of) its Hessian, and a Newton step solves
// H d = -b. A factor's error is half its weighted objective in the paper, ½ w Σ ρ(r²), which makes
// b = w Σ ρ' Jᵀ r and H = w Σ ρ' JᵀJ.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "lumen/graph/values.h"

namespace lumen {

// Which variables stand where in a vector of tangents.
class BlockLayout {
 public:
  BlockLayout() = default;
  BlockLayout(std::vector<Key> keys, const std::vector<int>& dimensions);
  BlockLayout(std::vector<Key> keys, const Values& values);

  int Size() const { return static_cast<int>(keys_.size()); }
  int TotalDimension() const { return offsets_.back(); }
  const std::vector<Key>& Keys() const { return keys_; }
  int Offset(int block) const { return offsets_[static_cast<size_t>(block)]; }
  int Dimension(int block) const { return Offset(block + 1) - Offset(block); }
  int IndexOf(const Key& key) const;  // -1 if not there; a linear search: for the few keys of a factor
  friend bool operator==(const BlockLayout&, const BlockLayout&) = default;

 private:
  std::vector<Key> keys_;
  std::vector<int> offsets_{0};
};

struct NormalBlock {
  NormalBlock() = default;
  explicit NormalBlock(BlockLayout block_layout);

  // Adds ½ weight |residual|² with this Jacobian by the whole layout.
  void AddResidual(const Eigen::Ref<const Eigen::VectorXd>& residual,
                   const Eigen::Ref<const Eigen::MatrixXd>& jacobian, double weight);
  // Adds a block whose keys are among ours.
  NormalBlock& operator+=(const NormalBlock& other);

  bool IsFinite() const;
  // The parts of b and H that belong to keys; a key that is not there breaks the contract.
  Eigen::VectorXd Gradient(const Key& key) const;
  Eigen::MatrixXd Hessian(const Key& row, const Key& column) const;
  // error(d) of the quadratic model.
  double PredictError(const Eigen::Ref<const Eigen::VectorXd>& d) const {
    return error + b.dot(d) + 0.5 * d.dot(H * d);
  }

  BlockLayout layout;
  Eigen::MatrixXd H;
  Eigen::VectorXd b;
  double error = 0;
  int64_t count = 0;  // residuals that took part; 0 says that there was nothing to compare
};

}  // namespace lumen
