#include "lumen/network/architecture.h"

#include <algorithm>

#include "lumen/base/error.h"

namespace lumen {

NetworkSpec MakeDepthSpec(int bases, bool knows_lens) {
  NetworkSpec spec;
  spec.name = "depth";
  spec.input_channels = knows_lens ? 4 : 3;
  spec.heads = {{"average", {64, 64, 1}, Activation::kAbs}, {"bases", {128, 128, bases}, Activation::kTanh}};
  return spec;
}

NetworkSpec MakeFeatureSpec(int channels) {
  NetworkSpec spec;
  spec.name = "feature";
  spec.heads = {{"map", {64, 64, channels}, Activation::kTanh},
                {"descriptor", {64, 64, channels}, Activation::kTanh}};
  return spec;
}

std::vector<BlockSpec> ListBlocks(const NetworkSpec& spec) {
  using Role = BlockSpec::Role;
  const int stages = static_cast<int>(spec.widths.size());
  LUMEN_CHECK(stages >= 2 && spec.input_width % (1 << stages) == 0 && spec.input_height % (1 << stages) == 0,
              spec.input_width, "x", spec.input_height);
  std::vector<BlockSpec> blocks;
  int channels = spec.input_channels;
  for (int i = 0; i < stages; ++i) {
    const std::string name = i == 0 ? "pre_down" : "down" + std::to_string(i);
    blocks.push_back(
        {.name = "trunk." + name, .role = Role::kDown, .level = i, .in = channels, .out = spec.widths[i]});
    channels = spec.widths[i];
  }
  blocks.push_back({.name = "trunk.bottleneck",
                    .role = Role::kBottleneck,
                    .level = stages,
                    .in = channels,
                    .out = spec.bottleneck});
  channels = spec.bottleneck;
  for (int i = 1; i < stages; ++i) {
    const int skip = stages - i;  // up1 meets the deepest down stage; the first one's skip is not used
    blocks.push_back({.name = "trunk.up" + std::to_string(i),
                      .role = Role::kUp,
                      .level = skip,
                      .in = channels + spec.widths[skip],
                      .out = spec.widths[skip],
                      .skip = skip});
    channels = spec.widths[skip];
  }
  for (int head = 0; head < static_cast<int>(spec.heads.size()); ++head) {
    int in = channels;
    const HeadSpec& h = spec.heads[head];
    for (size_t i = 0; i < h.widths.size(); ++i) {
      const bool last = i + 1 == h.widths.size();
      blocks.push_back({.name = h.name + "." + std::to_string(i),
                        .role = Role::kHead,
                        .level = 1,
                        .in = in,
                        .out = h.widths[i],
                        .head = head,
                        .starts_head = i == 0,
                        .activation = last ? h.activation : Activation::kRelu});
      in = h.widths[i];
    }
  }
  return blocks;
}

int CountGroups(const NetworkSpec& spec, int channels) { return std::max(1, channels / spec.group_size); }

std::vector<TensorSpec> ListTensors(const NetworkSpec& spec) {
  std::vector<TensorSpec> tensors;
  for (const BlockSpec& block : ListBlocks(spec)) {
    const std::string prefix = spec.name + "." + block.name;
    tensors.push_back({prefix + ".conv1.weight", {block.out, block.in, 3, 3}});
    tensors.push_back({prefix + ".conv1.bias", {block.out}});
    tensors.push_back({prefix + ".norm.weight", {block.out}});
    tensors.push_back({prefix + ".norm.bias", {block.out}});
    tensors.push_back({prefix + ".conv2.weight", {block.out, block.out, 3, 3}});
    tensors.push_back({prefix + ".conv2.bias", {block.out}});
  }
  return tensors;
}

int64_t CountParameters(const NetworkSpec& spec) {
  int64_t count = 0;
  for (const TensorSpec& tensor : ListTensors(spec)) {
    int64_t size = 1;
    for (const int extent : tensor.shape) size *= extent;
    count += size;
  }
  return count;
}

std::string DescribeSpec(const NetworkSpec& spec) {
  static constexpr const char* kRoles[] = {"down", "bottleneck", "up", "head"};
  static constexpr const char* kActivations[] = {"relu", "abs", "tanh"};
  std::string text;
  for (const BlockSpec& block : ListBlocks(spec)) {
    text += StrCat(spec.name, ".", block.name, " ", kRoles[static_cast<int>(block.role)], " ", block.in, "->",
                   block.out, " at ", spec.input_width >> block.level, "x", spec.input_height >> block.level,
                   " ", kActivations[static_cast<int>(block.activation)], "\n");
  }
  return text;
}

}  // namespace lumen
