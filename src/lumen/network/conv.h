// One partial convolution as the engine runs it: Winograd F(4×4, 3×3) where there are channels enough,
// direct elsewhere, with the mask's part as an epilogue: out = raw · scale + bias · valid. What lies
// outside the mask is zero and is not computed.
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
  int NumBlocks() const { return static_cast<int>(blocks_.size()); }
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
  // A unit is a row of tiles (Winograd) or of pixels; a span is the part of it that holds valid outputs,
  // in tiles or pixels.
  struct Span {
    int begin = 0, end = 0;
    int Size() const { return end - begin; }
  };
  struct BlockOfUnits {
    int first, last;  // units [first, last)
    int tiles;        // Winograd: of their spans, rounded up to whole kernel calls
  };

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
  void EmitTiles(const float* m, ptrdiff_t position_stride, const BlockOfUnits& block, int channel,
                 const Output& output) const;
  void EmitRow(const float* raw, int channel, int y, const Output& output) const;
  Epilogue EpilogueAt(int channel, int y, const Output& output) const;
  void ZeroOutside(int channel, int unit, const Output& output) const;
  void PlanBlocks(const Mask& valid);
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
  std::vector<Span> spans_;  // of the units
  std::vector<BlockOfUnits> blocks_;
  std::vector<float> weights_;    // [position][channel block][in (· taps)][8]
  std::vector<int32_t> offsets_;  // direct: where each tap's row begins
  std::vector<float> bias_;
  std::vector<float> scale_, valid_;  // one plane each
};

}  // namespace lumen
