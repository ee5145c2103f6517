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

RelativeFactor::RelativeFactor(std::vector<Key> keyframes) : Factor(std::move(keyframes)) {
  LUMEN_CHECK(Keys().size() >= 2);
  for (auto key = Keys().begin(); key != Keys().end(); ++key) {
    LUMEN_CHECK(key->kind == KeyKind::kKeyframe && std::find(Keys().begin(), key, *key) == key);
  }
}

Eigen::VectorXd RelativeFactor::StepFrom(const std::vector<Value>& from, const Values& now) const {
  const auto& last_then = std::get<KeyframeValue>(from.back());
  const KeyframeValue& last = now.Keyframe(Keys().back());
  const Sim3 back = last_then.world_from_keyframe * last.world_from_keyframe.Inverse();
  int dimension = 0;
  for (const Value& value : from) dimension += Dimension(value);
  Eigen::VectorXd step(dimension);
  int row = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    const auto& then = std::get<KeyframeValue>(from[i]);
    const KeyframeValue& here = now.Keyframe(Keys()[i]);
    const bool is_last = i + 1 == from.size();
    step.segment<KeyframeValue::kPlace>(row) =
        is_last ? Vector7d::Zero()
                : (then.world_from_keyframe.Inverse() * (back * here.world_from_keyframe)).Log();
    step.segment(row + KeyframeValue::kPlace, here.code.size()) = here.code - then.code;
    row += KeyframeValue::kPlace + static_cast<int>(here.code.size());
  }
  return step;
}

}  // namespace lumen
