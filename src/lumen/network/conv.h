// One partial convolution as the engine runs it: Winograd F(4×4, 3×3) where there are channels enough,
// direct elsewhere, with the mask's part as an epilogue: out = raw · scale + bias · valid.
#pragma once

#include <vector>

#include "lumen/base/safetensors.h"
#include "lumen/image/gemm_kernel.h"
#include "lumen/network/epilogue.h"
#include "lumen/network/mask_plan.h"
#include "lumen/network/planes.h"

namespace lumen {

class Conv {
 public:
  Conv(const PlaneLayout& layout, const ConvMask& mask, const Tensor& weight, const Tensor& bias,
       const GemmKernel& kernel);

  int In() const { return in_; }
  int Out() const { return out_; }
  bool IsWinograd() const { return method_ == Method::kWinograd; }

  // Rows of work that can run side by side, and the scratch (floats) each thread needs.
  int NumBlocks() const { return (row_units_ + units_per_block_ - 1) / units_per_block_; }
  size_t ScratchSize() const;

  struct Output {
    float* planes = nullptr;
    bool relu = false;
    ChannelSums* sums = nullptr;  // of this block, one per channel; null: not wanted
  };
  // Computes the block's rows of the output channels that fall to this share of `shares`. `input` must be
  // masked already and zero outside. Every value comes out the same however the work is shared.
  struct ChannelShare {
    int share = 0, shares = 1;
  };
  void RunBlock(int block, ChannelShare part, const float* input, const Output& output, float* scratch) const;

 private:
  void PackWinograd(const Tensor& weight);
  void PackDirect(const Tensor& weight);
  // Output channels [begin, end), whole kernel calls.
  struct Channels {
    int begin, end;
  };
  void RunWinogradBlock(int block, Channels channels, const float* input, const Output& output,
                        float* scratch) const;
  void RunDirectBlock(int block, Channels channels, const float* input, const Output& output,
                      float* scratch) const;
  void RunOneChannelBlock(int block, const float* input, const Output& output, float* scratch) const;
  void EmitRow(const float* raw, int channel, int y, const Output& output) const;
  Epilogue EpilogueAt(int channel, int y, const Output& output) const;
  int PaddedTiles(int tile_rows) const;
  // Floats from one position's matrix to the next: so many channels of tiles, and a little more.
  static ptrdiff_t PositionStride(int channels, int tiles) {
    return static_cast<ptrdiff_t>(channels) * tiles + 80;
  }

  PlaneLayout layout_;
  const GemmKernel* kernel_;
  int in_, out_, padded_out_;
  enum class Method { kWinograd, kDirect, kOneChannel };
  Method ChooseMethod() const;
  Method method_;
  int row_units_;  // tile rows (Winograd) or pixel rows (direct)
  int units_per_block_;
  std::vector<float> weights_;    // [position][channel block][in (· taps)][8]
  std::vector<int32_t> offsets_;  // direct: where each tap's row begins
  std::vector<float> bias_;
  std::vector<float> scale_, valid_;  // one plane each
};

}  // namespace lumen
