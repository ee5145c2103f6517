// A training's state on disk. Several files, each small enough to be carried around; `checkpoint.json` names
// those that belong together and is written last, so that whatever breaks off leaves the last good one.
#pragma once

#include <filesystem>

#include "lumen/network/weights.h"
#include "lumen/train/optimizer.h"

namespace lumen {

struct TrainingProgress {
  int64_t step = 0;
  double seconds = 0;       // of training so far, all calls together
  int64_t scenes = 0;       // taken from the clip source so far, by each shard
  int64_t stage_steps = 0;  // steps in the current stage
  bool first_stage = true;
  int64_t seed = 0;
  int64_t shards = 1;       // parts of a step's batch, each with scenes of its own
  int64_t scene_shift = 0;  // of a shard's scenes, since their number was changed
};

// The optimisers hold values and moments.
struct TrainingState {
  FlatAdamW& networks;
  FlatAdamW& adversary;
  WeightAverage& average;  // of the networks

  std::vector<torch::Tensor*> Tensors() const;
};

void SaveCheckpoint(const std::filesystem::path& folder, const TrainingProgress& progress, const Model& model,
                    const TrainingState& state);
bool HasCheckpoint(const std::filesystem::path& folder);
// Throws InputError if there is none, or if it is of another architecture than the model's.
TrainingProgress LoadCheckpoint(const std::filesystem::path& folder, const Model& model,
                                const TrainingState& state);

}  // namespace lumen
