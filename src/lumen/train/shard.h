// One part of a step's batch, with scenes, a ring of clips and random numbers of its own. What a shard gives
// at a step does not depend on which rank computes it, nor on how many ranks there are: a training of two
// shards is the same in one process as in two.
#pragma once

#include <atomic>

#include "lumen/train/clip_stream.h"
#include "lumen/train/pair_batch.h"
#include "lumen/train/train_options.h"

namespace lumen {

struct ShardPlace {
  int number = 0, shards = 1;
  int threads = 1;  // that make its clips
};

class Shard {
 public:
  Shard(const TrainOptions& options, const ShardPlace& place, const torch::Device& device);

  // `taken` scenes were taken before this call: the ring that they made is made again, or, where the clock
  // rules, a fresh one. Throws InputError if no two frames are a pair.
  void Fill(int64_t taken, const std::atomic<bool>& stop);
  // What is due before this step: by its number, or what is ready.
  void TakeNewScenes(int64_t step, int64_t shift);
  // How many are to be taken before it, where steps are counted.
  int64_t ScenesDue(int64_t step, int64_t shift) const;
  // Torch's random numbers from here on follow from step and shard.
  void Seed(int64_t step) const;
  PairBatch Draw(int pairs, const AugmentationOptions& augmentation, int64_t step) const;

  int64_t Scenes() const { return scenes_; }  // taken so far
  double WaitedSeconds() const { return stream_ == nullptr ? 0 : stream_->WaitedSeconds(); }

 private:
  int64_t WholeRing() const;
  int64_t FirstScenes() const;
  void TakeScene();

  const TrainOptions& options_;
  ShardPlace place_;
  std::shared_ptr<const ClipSource> source_;
  ClipStore store_;
  std::unique_ptr<ClipStream> stream_;
  int64_t scenes_ = 0;
};

// Scenes that no training sees; nothing if the options want none or no two frames of them are a pair.
std::unique_ptr<ClipStore> MakeValidationStore(const TrainOptions& options, const torch::Device& device,
                                               int threads, const std::atomic<bool>& stop);

}  // namespace lumen
