// The two networks as data. The list of blocks below is the only place where the architecture is written
// down: the engine, the plain version, the Torch modules, the names in weights files, the parameter count
// and the documentation's table all follow from it.
//
// Both networks share a trunk, a UNet of partial convolutions: five stages down (the first one's skip is
// not used), a bottleneck, four stages up to half the input's size. Heads of three blocks each start from
// the trunk's output and from the same mask.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lumen {

enum class Activation { kRelu, kAbs, kTanh };

// Two partial 3×3 convolutions: conv1 → group norm → ReLU → conv2 → activation.
struct BlockSpec {
  enum class Role {
    kDown,  // its output is kept as a skip, then halved by max pooling
    kBottleneck,
    kUp,    // input: the previous output doubled (nearest), with the skip of block `skip` behind it
    kHead,  // input: the trunk's output for a head's first block, else the block before
  };
  std::string name;
  Role role = Role::kDown;
  int level = 0;        // resolution: input size / 2^level
  int in = 0, out = 0;  // channels
  int skip = -1;        // kUp: index of the down block whose output (and entering mask) it takes
  int head = -1;        // kHead: which head
  bool starts_head = false;
  Activation activation = Activation::kRelu;
};

struct HeadSpec {
  std::string name;
  std::vector<int> widths;  // channels of its blocks, the last one the output's
  Activation activation = Activation::kTanh;
};

struct NetworkSpec {
  std::string name;
  int input_width = 160, input_height = 128;  // multiples of 2^(number of down stages)
  int input_channels = 3;  // red, green, blue; a fourth is the angle off the lens's axis (LensView)
  std::vector<int> widths = {8, 16, 32, 64, 128};  // of the down stages
  int bottleneck = 128;
  int group_size = 4;  // channels per group of the norms
  std::vector<HeadSpec> heads;

  int OutputWidth() const { return input_width / 2; }
  int OutputHeight() const { return input_height / 2; }
  int OutputChannels(int head) const { return heads[static_cast<size_t>(head)].widths.back(); }
};

// Average depth (absolute value) and bases (tanh). Models of before lenses were told take the picture alone.
NetworkSpec MakeDepthSpec(int bases = 16, bool knows_lens = true);
// Feature map and descriptors (tanh).
NetworkSpec MakeFeatureSpec(int channels = 16);

std::vector<BlockSpec> ListBlocks(const NetworkSpec& spec);

// Groups of a norm over so many channels.
int CountGroups(const NetworkSpec& spec, int channels);

struct TensorSpec {
  std::string name;
  std::vector<int> shape;
};
// Every learned tensor, in the order of the blocks: NAME.conv1.weight (out, in, 3, 3), NAME.conv1.bias,
// NAME.norm.weight, NAME.norm.bias, NAME.conv2.weight, NAME.conv2.bias; names begin with the network's.
std::vector<TensorSpec> ListTensors(const NetworkSpec& spec);
int64_t CountParameters(const NetworkSpec& spec);

// The same as text: one line per block, for metadata and documents.
std::string DescribeSpec(const NetworkSpec& spec);

}  // namespace lumen
