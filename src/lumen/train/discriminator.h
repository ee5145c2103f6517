// Tells a true depth map from an estimated one, given the picture: the adversary of stage 2.
#pragma once

#include <torch/torch.h>

namespace lumen {

class DiscriminatorImpl : public torch::nn::Module {
 public:
  explicit DiscriminatorImpl(int64_t height = 64, int64_t width = 80);
  // picture (B, 3, H, W), zero outside the mask, and depth (B, 1, H, W) divided by its largest value → (B,
  // 1).
  torch::Tensor forward(const torch::Tensor& picture, const torch::Tensor& depth);

 private:
  torch::nn::Sequential body_{nullptr};
  torch::nn::Linear last_{nullptr};
};
TORCH_MODULE(Discriminator);

}  // namespace lumen
