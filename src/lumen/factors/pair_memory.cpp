#include "lumen/factors/pair_memory.h"

#include <algorithm>
#include <cmath>

namespace lumen {

namespace {

bool Within(const Eigen::Ref<const Eigen::VectorXd>& step, double bound) {
  return step.size() == 0 || step.cwiseAbs().maxCoeff() <= bound;
}

}  // namespace

PairMemory::PairMemory(StepThresholds within, const KeyframeSamples* source, bool sees_target)
    : within_(within),
      depth_(source == nullptr ? 1 : std::sqrt(static_cast<double>(source->keyframe->depth.mean_square))),
      sees_target_(sees_target) {}

std::optional<PairSystem> PairMemory::Recall(const PairState& state) const {
  std::shared_ptr<const Kept> kept;
  {
    const std::lock_guard lock(mutex_);
    kept = kept_;
  }
  if (kept == nullptr) return std::nullopt;
  // The pair as it was, at its present size.
  const PairState& old = kept->state;
  const double growth = state.source_log_scale - old.source_log_scale;
  const Rigid3 grown(old.target_from_source.Rotation(),
                     std::exp(growth) * old.target_from_source.Translation());
  const Vector6d move = grown.Local(state.target_from_source);
  const double unit = depth_ * std::exp(state.source_log_scale);
  if (!Within(move.head<3>(), within_.pose * unit) || !Within(move.tail<3>(), within_.pose))
    return std::nullopt;
  Eigen::VectorXd step = Eigen::VectorXd::Zero(kept->system.b.size());
  step.head<6>() = move;
  if (sees_target_) {
    step[kTargetScale] = state.target_log_scale - old.target_log_scale - growth;
    if (std::abs(step[kTargetScale]) > within_.log_scale) return std::nullopt;
  }
  const Eigen::VectorXd source_code = state.source_code - old.source_code;
  const Eigen::VectorXd target_code = state.target_code - old.target_code;
  if (!Within(source_code, within_.code) || !Within(target_code, within_.code)) return std::nullopt;
  // Codes that are held do not move; those that are free stand in this order.
  Eigen::Index at = kCodes;
  for (const Eigen::VectorXd* code : {&source_code, &target_code}) {
    if (at + code->size() > step.size()) continue;
    step.segment(at, code->size()) = *code;
    at += code->size();
  }
  PairSystem system = kept->system;
  const double shrink = std::exp(-growth);  // a move means less in a larger pair
  system.H.topRows<3>() *= shrink;
  system.H.leftCols<3>() *= shrink;
  system.b.head<3>() *= shrink;
  const Eigen::VectorXd bend = system.H * step;
  system.error = std::max(0.0, system.error + system.b.dot(step) + 0.5 * step.dot(bend));
  system.b += bend;
  return system;
}

void PairMemory::Keep(const PairState& state, const PairSystem& system) {
  if (within_.pose <= 0 || system.count == 0) return;
  auto kept = std::make_shared<const Kept>(Kept{state, system});
  const std::lock_guard lock(mutex_);
  kept_ = std::move(kept);
}

}  // namespace lumen
