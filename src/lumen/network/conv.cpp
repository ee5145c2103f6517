#include "lumen/network/conv.h"

#include <algorithm>

#include "lumen/network/winograd.h"

namespace lumen {

namespace {

constexpr int kMinWinogradChannels = 16;  // below, the transforms save little and cost digits
constexpr int kTilesPerBlock = 40;        // two tile rows at 80 pixels
constexpr int kRowsPerBlock = 8;          // direct

int RoundUp(int value, int multiple) { return (value + multiple - 1) / multiple * multiple; }

std::vector<float> MakePlane(const PlaneLayout& layout, const Image<float>& image) {
  std::vector<float> plane(layout.BufferSize(1), 0.0F);
  for (int y = 0; y < image.Height(); ++y) {
    std::copy_n(image.Row(y), image.Width(), plane.data() + layout.Origin() + y * layout.Stride());
  }
  return plane;
}

}  // namespace

Conv::Conv(const PlaneLayout& layout, const ConvMask& mask, const Tensor& weight, const Tensor& bias,
           const GemmKernel& kernel)
    : layout_(layout),
      kernel_(&kernel),
      in_(static_cast<int>(weight.shape[1])),
      out_(static_cast<int>(weight.shape[0])),
      padded_out_(RoundUp(out_, kKernelChannels)),
      method_(ChooseMethod()),
      bias_(bias.values) {
  LUMEN_CHECK(mask.valid.Width() == layout.width && mask.valid.Height() == layout.height);
  Image<float> valid(layout.width, layout.height);
  for (size_t i = 0; i < valid.Size(); ++i) valid.Data()[i] = mask.valid.Data()[i] != 0 ? 1.0F : 0.0F;
  valid_ = MakePlane(layout, valid);
  scale_ = MakePlane(layout, mask.scale);
  PlanBlocks(mask.valid);
  switch (method_) {
    case Method::kWinograd:
      PackWinograd(weight);
      break;
    case Method::kDirect:
      PackDirect(weight);
      break;
    case Method::kOneChannel:
      weights_ = weight.values;
      break;
  }
}

Conv::Method Conv::ChooseMethod() const {
  if (out_ == 1) return Method::kOneChannel;
  return in_ >= kMinWinogradChannels ? Method::kWinograd : Method::kDirect;
}

// Blocks are runs of units with about equal work; they depend on the mask alone.
void Conv::PlanBlocks(const Mask& valid) {
  const int unit = IsWinograd() ? 4 : 1;
  spans_.resize(static_cast<size_t>((layout_.height + unit - 1) / unit));
  for (int y = 0; y < valid.Height(); ++y) {
    Span& span = spans_[static_cast<size_t>(y / unit)];
    for (int x = 0; x < valid.Width(); ++x) {
      if (valid(x, y) == 0) continue;
      span.begin = span.Size() == 0 ? x / unit : std::min(span.begin, x / unit);
      span.end = std::max(span.end, x / unit + 1);
    }
  }
  for (int i = 0; i < static_cast<int>(spans_.size()); ++i) {
    const int tiles = IsWinograd() ? spans_[static_cast<size_t>(i)].Size() : 0;
    const bool full = blocks_.empty() || (IsWinograd() ? blocks_.back().tiles + tiles > kTilesPerBlock
                                                       : i - blocks_.back().first == kRowsPerBlock);
    if (full) blocks_.push_back({i, i, 0});
    blocks_.back().last = i + 1;
    blocks_.back().tiles += tiles;
  }
  for (BlockOfUnits& block : blocks_) block.tiles = RoundUp(block.tiles, kernel_->columns);
}

void Conv::PackWinograd(const Tensor& weight) {
  const size_t position_size = static_cast<size_t>(padded_out_) * in_;
  weights_.assign(kWinogradPositions * position_size, 0.0F);
  for (int o = 0; o < out_; ++o) {
    for (int c = 0; c < in_; ++c) {
      float u[kWinogradPositions];
      TransformFilter(&weight.values[(static_cast<size_t>(o) * in_ + c) * 9], u);
      const size_t place =
          (static_cast<size_t>(o / kKernelChannels) * in_ + c) * kKernelChannels + o % kKernelChannels;
      for (int p = 0; p < kWinogradPositions; ++p) weights_[p * position_size + place] = u[p];
    }
  }
}

void Conv::PackDirect(const Tensor& weight) {
  weights_.assign(static_cast<size_t>(padded_out_) * in_ * 9, 0.0F);
  for (int o = 0; o < out_; ++o) {
    for (int k = 0; k < 9 * in_; ++k) {
      weights_[(static_cast<size_t>(o / kKernelChannels) * in_ * 9 + k) * kKernelChannels +
               o % kKernelChannels] = weight.values[static_cast<size_t>(o) * in_ * 9 + k];
    }
  }
  for (int c = 0; c < in_; ++c) {
    for (int j = -1; j <= 1; ++j) {
      for (int i = -1; i <= 1; ++i) offsets_.push_back(c * layout_.PlaneSize() + j * layout_.Stride() + i);
    }
  }
}

size_t Conv::ScratchSize() const {
  if (!IsWinograd())
    return kKernelChannels * static_cast<size_t>(RoundUp(layout_.width, kernel_->columns)) + 64;
  int tiles = 0;
  for (const BlockOfUnits& block : blocks_) tiles = std::max(tiles, block.tiles);
  const ptrdiff_t v = PositionStride(in_, tiles);
  const ptrdiff_t m = PositionStride(padded_out_, tiles);
  return static_cast<size_t>(kWinogradPositions * (v + m) + 256);
}

void Conv::RunBlock(int block, ChannelShare part, const float* input, const Output& output,
                    float* scratch) const {
  const int calls = padded_out_ / kKernelChannels;
  const Channels channels{calls * part.share / part.shares * kKernelChannels,
                          calls * (part.share + 1) / part.shares * kKernelChannels};
  if (channels.begin == channels.end) return;
  switch (method_) {
    case Method::kWinograd:
      return RunWinogradBlock(block, channels, input, output, scratch);
    case Method::kDirect:
      return RunDirectBlock(block, channels, input, output, scratch);
    case Method::kOneChannel:
      return RunOneChannelBlock(block, input, output, scratch);
  }
}

Epilogue Conv::EpilogueAt(int channel, int y, const Output& output) const {
  const ptrdiff_t place = layout_.Origin() + static_cast<ptrdiff_t>(y) * layout_.Stride();
  return {scale_.data() + place,
          valid_.data() + place,
          output.planes + static_cast<ptrdiff_t>(channel) * layout_.PlaneSize() + place,
          layout_.Stride(),
          bias_[channel],
          output.relu ? 0.0F : -3e38F};
}

// Zeros what the unit's span leaves out; the buffer may have served another layer.
void Conv::ZeroOutside(int channel, int unit, const Output& output) const {
  const int size = IsWinograd() ? 4 : 1;
  const Span& span = spans_[static_cast<size_t>(unit)];
  const int begin = std::min(size * span.begin, layout_.width);
  const int end = std::min(size * span.end, layout_.width);
  if (begin == 0 && end == layout_.width) return;
  for (int y = size * unit; y < std::min(size * (unit + 1), layout_.height); ++y) {
    float* row = EpilogueAt(channel, y, output).out;
    std::fill(row, row + begin, 0.0F);
    std::fill(row + end, row + layout_.width, 0.0F);
  }
}

void Conv::RunWinogradBlock(int block, Channels share, const float* input, const Output& output,
                            float* scratch) const {
  const auto [first, last, tiles] = blocks_[static_cast<size_t>(block)];
  // A position's matrix is a multiple of the cache's period apart from the next more often than not; the
  // padding in PositionStride keeps the 36 streams of the transforms from evicting each other.
  const ptrdiff_t v_position = PositionStride(in_, tiles);
  float* v = scratch;
  float* m = v + kWinogradPositions * v_position;

  // V[position][channel][tile]
  for (int c = 0; c < in_; ++c) {
    float* target = v + static_cast<ptrdiff_t>(c) * tiles;
    for (int unit = first; unit < last; ++unit) {
      const Span& span = spans_[static_cast<size_t>(unit)];
      const float* row = input + static_cast<ptrdiff_t>(c) * layout_.PlaneSize() +
                         static_cast<ptrdiff_t>(4 * unit) * layout_.Stride() + 4 * span.begin + 3;
      TransformInputRow(row, layout_.Stride(), span.Size(), target, v_position);
      target += span.Size();
    }
  }
  // M[position][channel][tile] = U V, all channels at a time, so that the weights are one stream.
  const size_t weights_position = static_cast<size_t>(padded_out_) * in_;
  const ptrdiff_t m_position = PositionStride(share.end - share.begin, tiles);
  for (int p = 0; p < kWinogradPositions; ++p) {
    float* product = m + p * m_position;
    for (int o = share.begin; o < share.end; o += kKernelChannels) {
      const float* weights = weights_.data() + p * weights_position + static_cast<size_t>(o) * in_;
      for (int t = 0; t < tiles; t += kernel_->columns)
        kernel_->with_stride(weights, v + p * v_position + t, tiles, in_, product + t, tiles);
      product += static_cast<ptrdiff_t>(kKernelChannels) * tiles;
    }
  }
  for (int o = share.begin; o < std::min(share.end, out_); ++o) {
    EmitTiles(m + static_cast<ptrdiff_t>(o - share.begin) * tiles, m_position,
              blocks_[static_cast<size_t>(block)], o, output);
  }
}

void Conv::EmitTiles(const float* m, ptrdiff_t position_stride, const BlockOfUnits& block, int channel,
                     const Output& output) const {
  for (int unit = block.first; unit < block.last; ++unit) {
    ZeroOutside(channel, unit, output);
    const Span& span = spans_[static_cast<size_t>(unit)];
    const int x = 4 * span.begin;
    const int y = 4 * unit;
    TransformOutputRow(m, position_stride, std::min(4 * span.Size(), layout_.width - x),
                       std::min(4, layout_.height - y), EpilogueAt(channel, y, output).Shifted(x),
                       output.sums == nullptr ? nullptr : output.sums + channel);
    m += span.Size();
  }
}

void Conv::EmitRow(const float* raw, int channel, int y, const Output& output) const {
  ZeroOutside(channel, y, output);
  const Span& span = spans_[static_cast<size_t>(y)];
  const Epilogue to = EpilogueAt(channel, y, output);
  LaneSums lanes;
  if (output.sums == nullptr) {
    EmitRun<false>(raw + span.begin, span.Size(), to, span.begin, lanes);
  } else {
    EmitRun<true>(raw + span.begin, span.Size(), to, span.begin, lanes);
    lanes.AddTo(output.sums[channel]);
  }
}

void Conv::RunDirectBlock(int block, Channels channels, const float* input, const Output& output,
                          float* scratch) const {
  const auto [first, last, tiles] = blocks_[static_cast<size_t>(block)];
  const int columns = kernel_->columns;
  const int padded_width = RoundUp(layout_.width, columns);
  for (int o = channels.begin; o < channels.end; o += kKernelChannels) {
    const float* weights = weights_.data() + static_cast<size_t>(o) * in_ * 9;
    for (int y = first; y < last; ++y) {
      const float* base = input + layout_.Origin() + static_cast<ptrdiff_t>(y) * layout_.Stride();
      const Span& span = spans_[static_cast<size_t>(y)];
      for (int x = span.begin / columns * columns; x < span.end; x += columns) {
        kernel_->with_offsets(weights, base + x, offsets_.data(), 9 * in_, scratch + x, padded_width);
      }
      for (int i = 0; i < std::min(kKernelChannels, out_ - o); ++i)
        EmitRow(scratch + static_cast<ptrdiff_t>(i) * padded_width, o + i, y, output);
    }
  }
}

namespace {

// Adds one input channel's part to four rows of sixteen columns of one output channel: as many sums as the
// multiply-adds' latency needs, and each input row serves three of them.
inline void AddChannel(const float* input, ptrdiff_t stride, const float* filter, float* raw,
                       ptrdiff_t raw_stride) {
  Float4 sums[4][4];
#pragma GCC unroll 16
  for (int n = 0; n < 16; ++n) sums[n / 4][n % 4] = Load4(raw + n / 4 * raw_stride + n % 4 * 4);
#pragma GCC unroll 6
  for (int j = -1; j <= 4; ++j) {
#pragma GCC unroll 12
    for (int n = 0; n < 12; ++n) {
      const int i = n / 4;
      const Float4 d = Load4(input + j * stride + i - 1 + n % 4 * 4);
#pragma GCC unroll 3
      for (int tap = 0; tap < 3; ++tap) {
        const int row = j + 1 - tap;
        if (row >= 0 && row < 4) sums[row][n % 4] += filter[3 * tap + i] * d;
      }
    }
  }
#pragma GCC unroll 16
  for (int n = 0; n < 16; ++n) Store4(raw + n / 4 * raw_stride + n % 4 * 4, sums[n / 4][n % 4]);
}

}  // namespace

void Conv::RunOneChannelBlock(int block, const float* input, const Output& output, float* scratch) const {
  const auto [first, last, tiles] = blocks_[static_cast<size_t>(block)];
  const int padded_width = RoundUp(layout_.width, 16);
  for (int y = first; y < last; y += 4) {
    std::fill_n(scratch, 4 * padded_width, 0.0F);
    for (int c = 0; c < in_; ++c) {  // outermost, because a plane's rows lie side by side
      const float* rows = input + static_cast<ptrdiff_t>(c) * layout_.PlaneSize() + layout_.Origin() +
                          static_cast<ptrdiff_t>(y) * layout_.Stride();
      for (int x = 0; x < padded_width; x += 16)
        AddChannel(rows + x, layout_.Stride(), &weights_[static_cast<size_t>(9) * c], scratch + x,
                   padded_width);
    }
    for (int i = 0; i < std::min(4, last - y); ++i)
      EmitRow(scratch + static_cast<ptrdiff_t>(i) * padded_width, 0, y + i, output);
  }
}

}  // namespace lumen
