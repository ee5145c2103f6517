#include "lumen/graph/normal_block.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"

namespace lumen {

BlockLayout::BlockLayout(std::vector<Key> keys, const std::vector<int>& dimensions) : keys_(std::move(keys)) {
  LUMEN_CHECK(keys_.size() == dimensions.size());
  offsets_.reserve(keys_.size() + 1);
  for (const int dimension : dimensions) offsets_.push_back(offsets_.back() + dimension);
}

BlockLayout::BlockLayout(std::vector<Key> keys, const Values& values) : keys_(std::move(keys)) {
  offsets_.reserve(keys_.size() + 1);
  for (const Key& key : keys_) offsets_.push_back(offsets_.back() + lumen::Dimension(values.At(key)));
}

int BlockLayout::IndexOf(const Key& key) const {
  const auto found = std::find(keys_.begin(), keys_.end(), key);
  return found == keys_.end() ? -1 : static_cast<int>(found - keys_.begin());
}

NormalBlock::NormalBlock(BlockLayout block_layout) : layout(std::move(block_layout)) {
  const int dimension = layout.TotalDimension();
  H.setZero(dimension, dimension);
  b.setZero(dimension);
}

void NormalBlock::AddResidual(const Eigen::Ref<const Eigen::VectorXd>& residual,
                              const Eigen::Ref<const Eigen::MatrixXd>& jacobian, double weight) {
  LUMEN_CHECK(jacobian.cols() == b.size() && jacobian.rows() == residual.size());
  H.noalias() += weight * jacobian.transpose() * jacobian;
  b.noalias() += weight * jacobian.transpose() * residual;
  error += 0.5 * weight * residual.squaredNorm();
  ++count;
}

NormalBlock& NormalBlock::operator+=(const NormalBlock& other) {
  error += other.error;
  count += other.count;
  if (layout == other.layout) {
    H += other.H;
    b += other.b;
    return *this;
  }
  const BlockLayout& theirs = other.layout;
  std::vector<int> ours(static_cast<size_t>(theirs.Size()));
  for (int i = 0; i < theirs.Size(); ++i) {
    const Key& key = theirs.Keys()[static_cast<size_t>(i)];
    const int index = layout.IndexOf(key);
    LUMEN_CHECK(index >= 0 && layout.Dimension(index) == theirs.Dimension(i), ToString(key),
                " does not stand in this block");
    ours[static_cast<size_t>(i)] = layout.Offset(index);
  }
  for (int i = 0; i < theirs.Size(); ++i) {
    const int rows = theirs.Dimension(i);
    const int row = ours[static_cast<size_t>(i)];
    b.segment(row, rows) += other.b.segment(theirs.Offset(i), rows);
    for (int j = 0; j < theirs.Size(); ++j) {
      H.block(row, ours[static_cast<size_t>(j)], rows, theirs.Dimension(j)) +=
          other.H.block(theirs.Offset(i), theirs.Offset(j), rows, theirs.Dimension(j));
    }
  }
  return *this;
}

bool NormalBlock::IsFinite() const { return std::isfinite(error) && b.allFinite() && H.allFinite(); }

Eigen::VectorXd NormalBlock::Gradient(const Key& key) const {
  const int index = layout.IndexOf(key);
  LUMEN_CHECK(index >= 0, ToString(key), " does not stand in this block");
  return b.segment(layout.Offset(index), layout.Dimension(index));
}

Eigen::MatrixXd NormalBlock::Hessian(const Key& row, const Key& column) const {
  const int i = layout.IndexOf(row);
  const int j = layout.IndexOf(column);
  LUMEN_CHECK(i >= 0 && j >= 0, ToString(row), " or ", ToString(column), " does not stand in this block");
  return H.block(layout.Offset(i), layout.Offset(j), layout.Dimension(i), layout.Dimension(j));
}

}  // namespace lumen
