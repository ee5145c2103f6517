// One partial convolution as the engine runs it: Winograd F(4×4, 3×3) where there are channels enough,
// direct elsewhere, with the mask's part as an epilogue: out = raw · scale + bias · valid. What lies
// outside the mask is zero and is not computed. T is what it computes in: float or Half.
#pragma once

#include <vector>

#include "lumen/base/safetensors.h"
#include "lumen/network/arithmetic.h"
#include "lumen/network/mask_plan.h"
#include "lumen/network/planes.h"

namespace lumen {

template <typename T>
class Conv {
 public:
  Conv(const PlaneLayout& layout, const ConvMask& mask, const Tensor& weight, const Tensor& bias,
       const Arithmetic<T>& arithmetic);

  int In() const { return in_; }
  int Out() const { return out_; }
  bool IsWinograd() const { return method_ == Method::kWinograd; }

  // Rows of work that can run side by side, and the scratch (numbers) each thread needs.
  int NumBlocks() const { return static_cast<int>(blocks_.size()); }
  size_t ScratchSize() const;

  struct Output {
    T* planes = nullptr;
    bool relu = false;
    ChannelSums* sums = nullptr;  // of this block, one per channel; null: not wanted
  };
  // Computes the block's rows of the output channels that fall to this share of `shares`. `input` must be
  // masked already and zero outside. Every value comes out the same however the work is shared.
  struct ChannelShare {
    int share = 0, shares = 1;
  };
  void RunBlock(int block, ChannelShare part, const T* input, const Output& output, T* scratch) const;

 private:
  // A unit is a row of tiles (Winograd) or of pixels; a span is the part of it that holds valid outputs,
  // in tiles or pixels.
  struct Span {
    int begin = 0, end = 0;
    int Size() const { return end - begin; }
  };
  struct BlockOfUnits {
    int first, last;  // units [first, last)
    int tiles;        // Winograd: of their spans, rounded up to whole products
  };
  enum class Method { kWinograd, kDirect, kOneChannel };
  static Method ChooseMethod(int in, int out);

  void PackWinograd(const Tensor& weight);
  void PackDirect(const Tensor& weight);
  void Narrow(const std::vector<float>& packed);
  // Output channels [begin, end), whole products.
  struct Channels {
    int begin, end;
  };
  void RunWinogradBlock(int block, Channels channels, const T* input, const Output& output, T* scratch) const;
  void RunDirectBlock(int block, Channels channels, const T* input, const Output& output, T* scratch) const;
  void RunOneChannelBlock(int block, const T* input, const Output& output, T* scratch) const;
  void EmitTiles(const T* m, ptrdiff_t position_stride, const BlockOfUnits& block, int channel,
                 const Output& output) const;
  template <typename Raw>
  void EmitRow(const Raw* raw, int channel, int y, const Output& output) const;
  Epilogue<T> EpilogueAt(int channel, int x, int y, const Output& output) const;
  void ZeroOutside(int channel, int unit, const Output& output) const;
  void PlanBlocks(const Mask& valid);
  // Numbers from one position's matrix to the next: so many channels of tiles, and a little more.
  static ptrdiff_t PositionStride(int channels, int tiles) {
    return static_cast<ptrdiff_t>(channels) * tiles + 320 / static_cast<ptrdiff_t>(sizeof(T));
  }

  PlaneLayout layout_;
  const Arithmetic<T>* arithmetic_;
  int in_, out_;
  Method method_;
  typename Arithmetic<T>::Shape shape_;  // of one call
  int padded_out_;
  std::vector<Span> spans_;  // of the units
  std::vector<BlockOfUnits> blocks_;
  std::vector<T> weights_;         // [position][channel block][in (· taps)][channels of a call]
  std::vector<float> one_filter_;  // kOneChannel: [in][9]
  std::vector<int32_t> offsets_;   // direct: where each tap's row begins
  std::vector<float> bias_;
  std::vector<T> scale_, valid_;  // one plane each
};

// `image` as a plane of its own, zero around it.
template <typename T>
std::vector<T> MakePlane(const PlaneLayout& layout, const Image<float>& image,
                         const Arithmetic<T>& arithmetic);
// 1 where the mask is set.
template <typename T>
std::vector<T> MakeMaskPlane(const PlaneLayout& layout, const Mask& mask, const Arithmetic<T>& arithmetic);

}  // namespace lumen
