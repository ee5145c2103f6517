#include "lumen/network/torch_network.h"

#include "lumen/base/error.h"

namespace lumen {

namespace {

TorchConvMask MakeTorchConvMask(const torch::Tensor& mask) {
  const torch::Tensor ones = torch::ones({1, 1, 3, 3}, mask.options());
  const torch::Tensor taps = torch::conv2d(mask, ones, {}, 1, 1);
  const torch::Tensor valid = (taps > 0.5).to(mask.dtype());
  return {mask, valid * 9.0 / taps.clamp_min(1.0), valid, {}};
}

// A partial convolution: renormalised by the share of valid taps, zero where there is none.
torch::Tensor PartialConv(torch::nn::Conv2d& conv, const torch::Tensor& input, const TorchConvMask& mask) {
  const torch::Tensor raw = torch::conv2d(input * mask.input, conv->weight, {}, 1, 1);
  const torch::Tensor bias = mask.bias.defined() ? mask.bias : conv->bias.view({1, -1, 1, 1}) * mask.valid;
  return torch::addcmul(bias, raw, mask.scale);
}

torch::Tensor Activate(const torch::Tensor& map, Activation activation) {
  if (activation == Activation::kRelu) return torch::relu(map);
  if (activation == Activation::kAbs) return torch::abs(map);
  return torch::tanh(map);
}

}  // namespace

TorchNetworkImpl::TorchNetworkImpl(const NetworkSpec& spec) : spec_(spec) {
  for (const BlockSpec& block : ListBlocks(spec)) {
    // Module names may not hold dots; the tensors' full names are restored in Load and Store.
    std::string name = block.name;
    std::replace(name.begin(), name.end(), '.', '_');
    Block made{block};
    const auto options = [](int in, int out) { return torch::nn::Conv2dOptions(in, out, 3).padding(1); };
    made.conv1 = register_module(name + "_conv1", torch::nn::Conv2d(options(block.in, block.out)));
    made.norm = register_module(name + "_norm", torch::nn::GroupNorm(torch::nn::GroupNormOptions(
                                                    CountGroups(spec, block.out), block.out)));
    made.conv2 = register_module(name + "_conv2", torch::nn::Conv2d(options(block.out, block.out)));
    for (auto& conv : {made.conv1, made.conv2}) {
      torch::nn::init::xavier_uniform_(conv->weight);
      torch::nn::init::zeros_(conv->bias);
    }
    blocks_.push_back(std::move(made));
  }
}

TorchMaskPlan TorchNetworkImpl::PlanMasks(const torch::Tensor& input_mask) const {
  using Role = BlockSpec::Role;
  torch::NoGradGuard no_grad;
  TorchMaskPlan plan;
  torch::Tensor mask = input_mask;
  for (const Block& block : blocks_) {
    // An up block takes the mask that entered its skip's block; every head the one at its own resolution.
    if (block.spec.role == Role::kUp) mask = plan[2 * static_cast<size_t>(block.spec.skip)].input;
    if (block.spec.starts_head) mask = plan[2].input;
    for (int conv = 0; conv < 2; ++conv) {
      plan.push_back(MakeTorchConvMask(mask));
      mask = plan.back().valid;
    }
    if (block.spec.role == Role::kDown) mask = torch::max_pool2d(mask, 2);
  }
  return plan;
}

TorchMaskPlan TorchNetworkImpl::MakeReady(const TorchMaskPlan& plan) const {
  torch::NoGradGuard no_grad;
  TorchMaskPlan ready;
  for (size_t i = 0; i < plan.size(); ++i) {
    const torch::nn::Conv2d& conv = i % 2 == 0 ? blocks_[i / 2].conv1 : blocks_[i / 2].conv2;
    const auto same = [&](const torch::Tensor& tensor) { return tensor.to(conv->weight.options()); };
    ready.push_back({same(plan[i].input), same(plan[i].scale), same(plan[i].valid), {}});
    ready.back().bias = (conv->bias.view({1, -1, 1, 1}) * ready.back().valid)
                            .contiguous(conv->weight.suggest_memory_format());
  }
  return ready;
}

torch::Tensor TorchNetworkImpl::RunBlock(size_t b, const torch::Tensor& input, const TorchMaskPlan& plan) {
  Block& block = blocks_[b];
  const torch::Tensor middle = torch::relu(block.norm->forward(PartialConv(block.conv1, input, plan[2 * b])));
  return Activate(PartialConv(block.conv2, middle, plan[2 * b + 1]), block.spec.activation);
}

torch::Tensor TorchNetworkImpl::RunTrunk(const torch::Tensor& image, const TorchMaskPlan& plan) {
  using Role = BlockSpec::Role;
  LUMEN_CHECK(plan.size() == 2 * blocks_.size());
  torch::Tensor current = image;
  std::vector<torch::Tensor> skips;
  for (size_t b = 0; b < blocks_.size() && blocks_[b].spec.role != Role::kHead; ++b) {
    const BlockSpec& spec = blocks_[b].spec;
    if (spec.role == Role::kUp) {
      const torch::Tensor doubled =
          torch::upsample_nearest2d(current, {current.size(2) * 2, current.size(3) * 2});
      current = torch::cat({doubled, skips[static_cast<size_t>(spec.skip)]}, 1);
    }
    current = RunBlock(b, current, plan);
    if (spec.role == Role::kDown) {
      skips.push_back(current);
      current = torch::max_pool2d(current, 2);
    }
  }
  return current;
}

torch::Tensor TorchNetworkImpl::RunHead(int head, const torch::Tensor& trunk, const TorchMaskPlan& plan) {
  torch::Tensor current = trunk;
  for (size_t b = 0; b < blocks_.size(); ++b) {
    if (blocks_[b].spec.head == head) current = RunBlock(b, current, plan);
  }
  return current;
}

std::vector<torch::Tensor> TorchNetworkImpl::Run(const torch::Tensor& image, const TorchMaskPlan& plan) {
  const torch::Tensor trunk = RunTrunk(image, plan);
  std::vector<torch::Tensor> outputs;
  for (int head = 0; head < static_cast<int>(spec_.heads.size()); ++head)
    outputs.push_back(RunHead(head, trunk, plan));
  return outputs;
}

namespace {

// Calls visit(name in the weights file, tensor) for all that a block learns.
template <typename Block, typename Visit>
void VisitTensors(const NetworkSpec& spec, const Block& block, const Visit& visit) {
  const auto visit_layer = [&](const char* name, const auto& layer) {
    const std::string prefix = spec.name + "." + block.spec.name + name;
    visit(prefix + ".weight", layer->weight);
    visit(prefix + ".bias", layer->bias);
  };
  visit_layer(".conv1", block.conv1);
  visit_layer(".norm", block.norm);
  visit_layer(".conv2", block.conv2);
}

}  // namespace

void TorchNetworkImpl::Load(const std::map<std::string, Tensor>& tensors) {
  torch::NoGradGuard no_grad;
  const auto copy = [&](const std::string& name, const torch::Tensor& target) {
    const Tensor& source = tensors.at(name);
    target.copy_(torch::from_blob(const_cast<float*>(source.values.data()), source.shape, torch::kFloat));
  };
  for (const Block& block : blocks_) VisitTensors(spec_, block, copy);
}

std::map<std::string, Tensor> TorchNetworkImpl::Store() const {
  std::map<std::string, Tensor> tensors;
  const auto copy = [&](const std::string& name, const torch::Tensor& source) {
    const torch::Tensor flat = source.detach().to(torch::kCPU, torch::kFloat).contiguous();
    const auto* values = flat.data_ptr<float>();
    tensors[name] = {source.sizes().vec(), std::vector<float>(values, values + flat.numel())};
  };
  for (const Block& block : blocks_) VisitTensors(spec_, block, copy);
  return tensors;
}

torch::Tensor ToTorch(ImageView<const uint8_t> rgb) {
  const torch::Tensor bytes = torch::from_blob(const_cast<uint8_t*>(rgb.Data()),
                                               {1, rgb.Height(), rgb.Width(), rgb.Channels()}, torch::kUInt8);
  return bytes.permute({0, 3, 1, 2}).to(torch::kFloat).div(255.0).contiguous();
}

torch::Tensor MaskToTorch(const Mask& mask) {
  const torch::Tensor bytes =
      torch::from_blob(const_cast<uint8_t*>(mask.Data()), {1, 1, mask.Height(), mask.Width()}, torch::kUInt8);
  return bytes.gt(0).to(torch::kFloat);
}

Image<float> FromTorch(const torch::Tensor& map) {
  const torch::Tensor interleaved =
      map.detach().to(torch::kCPU, torch::kFloat).permute({0, 2, 3, 1}).contiguous();
  Image<float> image(static_cast<int>(map.size(3)), static_cast<int>(map.size(2)),
                     static_cast<int>(map.size(1)));
  std::copy_n(interleaved.data_ptr<float>(), image.Size(), image.Data());
  return image;
}

}  // namespace lumen
