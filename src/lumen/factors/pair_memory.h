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

  // The system at `state`, if the one that is kept was made near enough: the quadratic model, about there.
  std::optional<PairSystem> Recall(const PairState& state) const;
  void Keep(const PairState& state, const PairSystem& system);

 private:
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
