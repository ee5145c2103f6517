#include "lumen/graph/factor.h"

#include <algorithm>

#include "lumen/base/parallel.h"

namespace lumen {

std::vector<NormalBlock> LinearizeAll(const FactorGraph& factors, const Values& values, int threads) {
  std::vector<NormalBlock> blocks(factors.size());
  ParallelFor(static_cast<int64_t>(factors.size()), threads, [&](int64_t i) {
    const auto index = static_cast<size_t>(i);
    blocks[index] = factors[index]->Linearize(values);
  });
  return blocks;
}

bool AllFinite(const std::vector<NormalBlock>& blocks) {
  return std::all_of(blocks.begin(), blocks.end(), [](const NormalBlock& block) { return block.IsFinite(); });
}

double TotalError(const FactorGraph& factors, const Values& values, int threads) {
  return OrderedReduce(static_cast<int64_t>(factors.size()), 1, threads, 0.0, [&](int64_t begin, int64_t) {
    return factors[static_cast<size_t>(begin)]->Error(values);
  });
}

double ResidualFactor::Error(const Values& values) const {
  return 0.5 * Residual(values, nullptr).squaredNorm();
}

NormalBlock ResidualFactor::Linearize(const Values& values) const {
  Eigen::MatrixXd jacobian;
  const Eigen::VectorXd residual = Residual(values, &jacobian);
  NormalBlock block{BlockLayout(Keys(), values)};
  block.AddResidual(residual, jacobian, 1.0);
  return block;
}

}  // namespace lumen
