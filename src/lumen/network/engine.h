// The engine: runs one network on the CPU for one video. Everything that depends on the weights and the
// mask alone is prepared at construction; a frame then allocates nothing but its outputs.
#pragma once

#include <memory>

#include "lumen/network/conv.h"
#include "lumen/network/lens_view.h"

namespace lumen {

struct EngineOptions {
  int threads = 1;
  const GemmKernel* kernel = &BestGemmKernel();
};

class NetworkEngine {
 public:
  // The view is of the network's input size. Throws InputError if its mask has no valid pixel.
  NetworkEngine(const NetworkSpec& spec, const std::map<std::string, Tensor>& tensors, const LensView& view,
                const EngineOptions& options = {});
  ~NetworkEngine();

  const NetworkSpec& Spec() const { return spec_; }

  // The trunk, whose output is kept; then any of the heads, as often as wanted.
  void RunTrunk(ImageView<const uint8_t> rgb);
  Image<float> RunHead(int head);  // interleaved; 0 outside the dilated mask

 private:
  struct Block;
  using Planes = std::vector<float>;

  void LoadImage(ImageView<const uint8_t> rgb);
  void LoadAngles(const Image<float>& angles);
  const float* GatherUpInput(Block& block, const Block& below);
  void RunBlock(const Block& block, const float* input, Planes& middle, Planes& output);
  void Normalise(const Block& block, Planes& planes) const;
  void RunConv(const Conv& conv, const float* input, Planes& output, bool relu, bool want_sums);

  NetworkSpec spec_;
  EngineOptions options_;
  std::vector<std::unique_ptr<Block>> blocks_;
  size_t first_head_ = 0;
  Planes image_;
  // Heads run one after the other at one size and share these.
  Planes head_input_, head_middle_, head_output_[2];
  std::vector<Planes> scratch_;  // per thread
  std::vector<ChannelSums> block_sums_, sums_;
  bool have_trunk_ = false;
};

}  // namespace lumen
