// The gradient summed over all ranks, in a few large pieces ("buckets"). Each sets out as soon as backward
// has made it whole, while the rest is still being computed.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <vector>

#include "lumen/train/peers.h"

namespace lumen {

class GradientBuckets {
 public:
  // `gradient` is flat; the parameters' gradients are views of it, in their order. Pieces have about so many
  // numbers.
  GradientBuckets(Peers& peers, const std::vector<torch::Tensor>& parameters, torch::Tensor gradient,
                  int64_t numbers = 1 << 20);
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  // Before the backward that completes the gradient; not before those that only add to it.
  void Arm();
  // After it: the gradient is the sum over all ranks. Throws PeerLost.
  void Finish();
  int Count() const { return static_cast<int>(buckets_.size()); }

 private:
  struct Bucket {
    int64_t first = 0, count = 0;  // in the flat gradient
    int parameters = 0;            // in it
    int missing = 0;               // of them, in this backward
    bool whole = false;
  };

  void Add(size_t bucket);  // one of its parameters is whole
  void SetOut();            // all pieces that may go, in their order

  Peers& peers_;
  torch::Tensor gradient_;
  std::vector<Bucket> buckets_;  // as backward comes to them: the last parameters first
  bool armed_ = false;
  size_t next_ = 0;  // to set out
  std::vector<std::unique_ptr<PendingSum>> under_way_;
  std::exception_ptr error_;
  struct Hooks;
  std::unique_ptr<Hooks> hooks_;
};

}  // namespace lumen
