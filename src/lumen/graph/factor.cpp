#include "lumen/graph/factor.h"

#include <algorithm>

#include "lumen/base/error.h"
#include "lumen/base/parallel.h"

namespace lumen {

Eigen::VectorXd Factor::StepFrom(const std::vector<Value>& from, const Values& now) const {
  int dimension = 0;
  for (const Value& value : from) dimension += Dimension(value);
  Eigen::VectorXd step(dimension);
  int row = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    const Eigen::VectorXd local = Local(from[i], now.At(keys_[i]));
    step.segment(row, local.size()) = local;
    row += static_cast<int>(local.size());
  }
  return step;
}

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

RelativeFactor::RelativeFactor(const Key& first, const Key& second) : Factor({first, second}) {
  LUMEN_CHECK(first.kind == KeyKind::kKeyframe && second.kind == KeyKind::kKeyframe && first != second);
}

Eigen::VectorXd RelativeFactor::StepFrom(const std::vector<Value>& from, const Values& now) const {
  const auto& first_then = std::get<KeyframeValue>(from[0]);
  const auto& second_then = std::get<KeyframeValue>(from[1]);
  const KeyframeValue& first = now.Keyframe(Keys()[0]);
  const KeyframeValue& second = now.Keyframe(Keys()[1]);
  const Sim3 first_from_second_then =
      first_then.world_from_keyframe.Inverse() * second_then.world_from_keyframe;
  const Sim3 second_from_first = second.world_from_keyframe.Inverse() * first.world_from_keyframe;
  Eigen::VectorXd step(2 * KeyframeValue::kPlace + first.code.size() + second.code.size());
  step << (first_from_second_then * second_from_first).Log(), first.code - first_then.code, Vector7d::Zero(),
      second.code - second_then.code;
  return step;
}

}  // namespace lumen
