#include "lumen/graph/normal_system.h"

#include <Eigen/Cholesky>
#include <algorithm>

#include "lumen/base/error.h"

namespace lumen {

namespace {

constexpr int kMaxDenseDimension = 150;

// A variable without information still needs a pivot: this share of the largest diagonal entry.
constexpr double kLeastDiagonal = 1e-6;

BlockLayout LayoutOf(const FactorGraph& factors, const Values& values) {
  std::vector<Key> keys;
  for (const FactorPtr& factor : factors)
    keys.insert(keys.end(), factor->Keys().begin(), factor->Keys().end());
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return {std::move(keys), values};
}

}  // namespace

NormalSystem::NormalSystem(const FactorGraph& factors, const Values& values)
    : layout_(LayoutOf(factors, values)), is_dense_(layout_.TotalDimension() <= kMaxDenseDimension) {
  for (int i = 0; i < layout_.Size(); ++i) index_.emplace(layout_.Keys()[static_cast<size_t>(i)], i);
}

void NormalSystem::Assemble(const std::vector<NormalBlock>& blocks) {
  const int dimension = layout_.TotalDimension();
  gradient_.setZero(dimension);
  error_ = 0;
  count_ = 0;
  if (is_dense_) dense_.setZero(dimension, dimension);
  std::vector<Eigen::Triplet<double>> triplets;
  for (const NormalBlock& block : blocks) {
    error_ += block.error;
    count_ += block.count;
    for (int i = 0; i < block.layout.Size(); ++i) {
      const int row = layout_.Offset(index_.at(block.layout.Keys()[static_cast<size_t>(i)]));
      const int rows = block.layout.Dimension(i);
      gradient_.segment(row, rows) += block.b.segment(block.layout.Offset(i), rows);
      for (int j = 0; j < block.layout.Size(); ++j) {
        const int column = layout_.Offset(index_.at(block.layout.Keys()[static_cast<size_t>(j)]));
        const int columns = block.layout.Dimension(j);
        const auto part = block.H.block(block.layout.Offset(i), block.layout.Offset(j), rows, columns);
        if (is_dense_) {
          dense_.block(row, column, rows, columns) += part;
        } else if (row >= column) {
          for (int c = 0; c < columns; ++c) {
            for (int r = row == column ? c : 0; r < rows; ++r) {
              triplets.emplace_back(row + r, column + c, part(r, c));
            }
          }
        }
      }
    }
  }
  if (is_dense_) return;
  for (int i = 0; i < dimension; ++i) triplets.emplace_back(i, i, 0.0);
  sparse_.resize(dimension, dimension);
  sparse_.setFromTriplets(triplets.begin(), triplets.end());
  if (!pattern_is_known_) solver_.analyzePattern(sparse_);
  pattern_is_known_ = true;
}

Eigen::VectorXd NormalSystem::DampingDiagonal() const {
  const Eigen::VectorXd diagonal =
      is_dense_ ? Eigen::VectorXd(dense_.diagonal()) : Eigen::VectorXd(sparse_.diagonal());
  const double largest = diagonal.size() == 0 ? 0.0 : diagonal.maxCoeff();
  return diagonal.cwiseMax(std::max(kLeastDiagonal * largest, 1e-12));
}

std::optional<Eigen::VectorXd> NormalSystem::Solve(double damping) {
  const Eigen::VectorXd added = damping * DampingDiagonal();
  Eigen::VectorXd step;
  if (is_dense_) {
    Eigen::MatrixXd damped = dense_;
    damped.diagonal() += added;
    const Eigen::LLT<Eigen::MatrixXd> llt(damped);
    if (llt.info() != Eigen::Success) return std::nullopt;
    step = llt.solve(-gradient_);
  } else {
    Eigen::SparseMatrix<double> damped = sparse_;
    damped.diagonal() += added;
    solver_.factorize(damped);
    if (solver_.info() != Eigen::Success || (solver_.vectorD().array() <= 0).any()) return std::nullopt;
    step = solver_.solve(-gradient_);
  }
  if (!step.allFinite()) return std::nullopt;
  return step;
}

void NormalSystem::AdvanceGradient(const Eigen::VectorXd& step) {
  if (is_dense_) {
    gradient_ += dense_ * step;
  } else {
    gradient_ += sparse_.selfadjointView<Eigen::Lower>() * step;
  }
}

Eigen::MatrixXd NormalSystem::DenseHessian() const {
  if (is_dense_) return dense_;
  return Eigen::MatrixXd(sparse_).selfadjointView<Eigen::Lower>();
}

}  // namespace lumen
