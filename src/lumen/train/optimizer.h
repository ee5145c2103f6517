// AdamW on one flat vector: all parameters of some modules laid end to end, so that a step is a handful of
// operations instead of hundreds, and the whole state is four tensors to save; and the average of such a
// vector.
#pragma once

#include <torch/torch.h>

namespace lumen {

class FlatAdamW {
 public:
  // Takes the parameters over: they become views into one tensor, as do their gradients.
  explicit FlatAdamW(const std::vector<torch::Tensor>& parameters, double weight_decay = 1e-4);

  void ZeroGradient() { gradient_.zero_(); }
  // Of all parameters; Step takes what is there.
  torch::Tensor& Gradient() { return gradient_; }
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

// The weights averaged over the last steps, so that what is kept does not hang on where the last few batches
// pushed them. While the training is young, over about a quarter of it.
class WeightAverage {
 public:
  // Takes no part in training: `horizon` steps, 0 keeps the last weights themselves.
  WeightAverage(const torch::Tensor& values, int horizon) : horizon_(horizon), mean_(values.clone()) {}

  // After step number `step`, counted from 1.
  void Update(const torch::Tensor& values, int64_t step);
  torch::Tensor& Mean() { return mean_; }

 private:
  int horizon_;
  torch::Tensor mean_;
};

// While it lives, `values` are the averaged ones.
class AveragedWeights {
 public:
  AveragedWeights(torch::Tensor& values, const torch::Tensor& mean) : values_(values), kept_(values.clone()) {
    torch::NoGradGuard no_grad;
    values_.copy_(mean);
  }
  ~AveragedWeights() {
    torch::NoGradGuard no_grad;
    values_.copy_(kept_);
  }
  AveragedWeights(const AveragedWeights&) = delete;
  AveragedWeights& operator=(const AveragedWeights&) = delete;

 private:
  torch::Tensor& values_;
  torch::Tensor kept_;
};

}  // namespace lumen
