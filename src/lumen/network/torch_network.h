// The networks as Torch modules, made from the same list of blocks: for training, for the GPU, and as the
// engine's witness. Only files that already pay for Torch's headers include this.
#pragma once

#include <torch/torch.h>

#include "lumen/base/safetensors.h"
#include "lumen/image/image.h"
#include "lumen/network/architecture.h"

namespace lumen {

// The mask's side of every convolution, two per block: it depends on the mask alone, so a video's frames
// share it.
struct TorchConvMask {
  torch::Tensor input;  // (N, 1, H, W): what enters
  torch::Tensor scale;  // 9 / valid taps, 0 where there is none
  torch::Tensor valid;
  torch::Tensor bias;  // the convolution's, where valid; only in a plan made ready
};
using TorchMaskPlan = std::vector<TorchConvMask>;

class TorchNetworkImpl : public torch::nn::Module {
 public:
  explicit TorchNetworkImpl(const NetworkSpec& spec);

  const NetworkSpec& Spec() const { return spec_; }
  // image (N, 3, H, W) in [0, 1] and mask (N, 1, H, W) of zeros and ones → one map per head, (N, C, H/2,
  // W/2).
  std::vector<torch::Tensor> forward(const torch::Tensor& image, const torch::Tensor& mask) {
    return Run(image, PlanMasks(mask));
  }
  TorchMaskPlan PlanMasks(const torch::Tensor& mask) const;
  // For weights that change no more, on the network's device and in its precision: what each convolution
  // adds is computed beforehand.
  TorchMaskPlan MakeReady(const TorchMaskPlan& plan) const;
  std::vector<torch::Tensor> Run(const torch::Tensor& image, const TorchMaskPlan& plan);
  torch::Tensor RunTrunk(const torch::Tensor& image, const TorchMaskPlan& plan);
  torch::Tensor RunHead(int head, const torch::Tensor& trunk, const TorchMaskPlan& plan);

  void Load(const std::map<std::string, Tensor>& tensors);  // by full name
  std::map<std::string, Tensor> Store() const;

 private:
  struct Block {
    BlockSpec spec;
    torch::nn::Conv2d conv1{nullptr}, conv2{nullptr};
    torch::nn::GroupNorm norm{nullptr};
  };
  torch::Tensor RunBlock(size_t block, const torch::Tensor& input, const TorchMaskPlan& plan);

  NetworkSpec spec_;
  std::vector<Block> blocks_;
};
TORCH_MODULE(TorchNetwork);

// Our images as Torch sees them, and back.
torch::Tensor ToTorch(ImageView<const uint8_t> rgb);  // (1, 3, H, W) in [0, 1]
torch::Tensor MaskToTorch(const Mask& mask);          // (1, 1, H, W)
Image<float> FromTorch(const torch::Tensor& map);     // (1, C, H, W) → interleaved

}  // namespace lumen
