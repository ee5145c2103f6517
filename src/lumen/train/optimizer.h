// AdamW on one flat vector: all parameters of some modules laid end to end, so that a step is a handful of
// operations instead of hundreds, and the whole state is four tensors to save.
#pragma once

#include <torch/torch.h>

namespace lumen {

class FlatAdamW {
 public:
  // Takes the parameters over: they become views into one tensor, as do their gradients.
  explicit FlatAdamW(const std::vector<torch::Tensor>& parameters, double weight_decay = 1e-4);

  void ZeroGradient() { gradient_.zero_(); }
  // Clips the gradient's norm and steps. A gradient that is not finite changes nothing.
  void Step(double rate, double clip_norm);
  // Of the last gradient, before clipping (a tensor: asking for its value waits for the device).
  const torch::Tensor& GradientNorm() const { return norm_; }

  torch::Tensor& Values() { return values_; }
  torch::Tensor& FirstMoment() { return first_; }
  torch::Tensor& SecondMoment() { return second_; }
  torch::Tensor& Steps() { return steps_; }

 private:
  double weight_decay_;
  torch::Tensor values_, gradient_, first_, second_, steps_, norm_;
};

}  // namespace lumen
