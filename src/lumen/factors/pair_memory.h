// What a pair factor remembers of its last evaluation. Its error depends on the relative state of the two
// keyframes alone, and not on the size of the pair as a whole. So while both move, turn and grow together, as
// whole stretches of a map do after a loop, the old system is carried along instead of being summed over all
// pixels again.
#pragma once

#include <memory>
#include <mutex>

#include "lumen/factors/keyframe_samples.h"
#include "lumen/factors/pair_variables.h"
#include "lumen/graph/levenberg_marquardt.h"

namespace lumen {

class PairMemory {
 public:
  // Moves are measured in the source's mean depth; `sees_target` says that the target's depth is part of the
  // system. Thresholds of zero: nothing is remembered.
  PairMemory(StepThresholds within, const KeyframeSamples* source, bool sees_target);

  // The system at `state`: what is kept if it was made near enough, otherwise evaluate() afresh, and kept.
  template <typename Evaluate>
  PairSystem SystemAt(const PairState& state, const Evaluate& evaluate) {
    if (auto near = Recall(state)) return *std::move(near);
    PairSystem system = evaluate();
    Keep(state, system);
    return system;
  }

 private:
  // The quadratic model that is kept, moved to `state`; nothing if it was made too far away.
  std::optional<PairSystem> Recall(const PairState& state) const;
  void Keep(const PairState& state, const PairSystem& system);

  struct Kept {
    PairState state;
    PairSystem system;
  };

  StepThresholds within_;
  double depth_;  // before scaling
  bool sees_target_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Kept> kept_;
};

}  // namespace lumen
