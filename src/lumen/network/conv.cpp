#include "lumen/network/conv.h"

#include <algorithm>

#include "lumen/image/float4.h"
#include "lumen/network/winograd.h"

namespace lumen {

namespace {

constexpr int kMinWinogradChannels = 16;  // below, the transforms cost more than they save
constexpr int kTilesPerBlock = 40;  // two tile rows at 80 pixels: V and M of 128 channels stay near the core
constexpr int kChannelsPerPass = 64;  // of M held at a time

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
      winograd_(in_ >= kMinWinogradChannels),
      bias_(bias.values) {
  LUMEN_CHECK(mask.valid.Width() == layout.width && mask.valid.Height() == layout.height);
  Image<float> valid(layout.width, layout.height);
  for (size_t i = 0; i < valid.Size(); ++i) valid.Data()[i] = mask.valid.Data()[i] != 0 ? 1.0F : 0.0F;
  valid_ = MakePlane(layout, valid);
  scale_ = MakePlane(layout, mask.scale);
  row_units_ = winograd_ ? layout.TilesY() : layout.height;
  units_per_block_ = winograd_ ? std::max(1, kTilesPerBlock / layout.TilesX()) : 8;
  winograd_ ? PackWinograd(weight) : PackDirect(weight);
}

int Conv::PaddedTiles(int tile_rows) const { return RoundUp(tile_rows * layout_.TilesX(), kernel_->columns); }

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
  const auto rows = static_cast<size_t>(4 * layout_.Stride());
  if (!winograd_) return kKernelChannels * static_cast<size_t>(RoundUp(layout_.width, kernel_->columns)) + 64;
  const auto v = static_cast<size_t>(kWinogradPositions * PositionStride(in_, PaddedTiles(units_per_block_)));
  const auto m =
      static_cast<size_t>(kWinogradPositions * PositionStride(std::min(padded_out_, kChannelsPerPass),
                                                              PaddedTiles(units_per_block_)));
  return v + m + rows + WinogradScratch(layout_.TilesX()) + 256;
}

void Conv::RunBlock(int block, const float* input, const Output& output, float* scratch) const {
  winograd_ ? RunWinogradBlock(block, input, output, scratch) : RunDirectBlock(block, input, output, scratch);
}

namespace {

// out = raw · scale + bias · valid, its sum and its sum of squares; four columns at a time, so that the
// order of the additions is fixed.
ChannelSums EmitWithSums(const float* raw, const float* scale, const float* valid, float bias, int width,
                         float* out) {
  Float4 sum = {};
  Float4 squares = {};
  int x = 0;
  for (; x + 4 <= width; x += 4) {
    const Float4 value = LoadFloat4(raw + x) * LoadFloat4(scale + x) + bias * LoadFloat4(valid + x);
    StoreFloat4(out + x, value);
    sum += value;
    squares += value * value;
  }
  ChannelSums sums{static_cast<double>(sum[0] + sum[1] + sum[2] + sum[3]),
                   static_cast<double>(squares[0] + squares[1] + squares[2] + squares[3])};
  for (; x < width; ++x) {
    out[x] = raw[x] * scale[x] + bias * valid[x];
    sums.sum += out[x];
    sums.squares += static_cast<double>(out[x]) * out[x];
  }
  return sums;
}

}  // namespace

void Conv::EmitRow(const float* raw, int channel, int y, const Output& output) const {
  const ptrdiff_t place = layout_.Origin() + static_cast<ptrdiff_t>(y) * layout_.Stride();
  const float* scale = scale_.data() + place;
  const float* valid = valid_.data() + place;
  float* out = output.planes + static_cast<ptrdiff_t>(channel) * layout_.PlaneSize() + place;
  const float bias = bias_[channel];
  if (output.sums != nullptr) {
    const ChannelSums sums = EmitWithSums(raw, scale, valid, bias, layout_.width, out);
    output.sums[channel].sum += sums.sum;
    output.sums[channel].squares += sums.squares;
    return;
  }
  // A ReLU is max(·, 0); without one the bound is so low that it never binds.
  const float least = output.relu ? 0.0F : -3e38F;
  for (int x = 0; x < layout_.width; ++x) out[x] = std::max(raw[x] * scale[x] + bias * valid[x], least);
}

void Conv::RunWinogradBlock(int block, const float* input, const Output& output, float* scratch) const {
  const int first = block * units_per_block_;
  const int tile_rows = std::min(units_per_block_, row_units_ - first);
  const int tiles_x = layout_.TilesX();
  const int tiles = PaddedTiles(tile_rows);
  // A position's matrix is a multiple of the cache's period apart from the next more often than not; the
  // padding in PositionStride keeps the 36 streams of the transforms from evicting each other.
  const ptrdiff_t v_position = PositionStride(in_, tiles);
  float* v = scratch;
  float* m = v + kWinogradPositions * v_position;
  float* rows = m + kWinogradPositions * PositionStride(std::min(padded_out_, kChannelsPerPass), tiles);
  float* transform_scratch = rows + 4 * layout_.Stride();

  // V[position][channel][tile]
  for (int c = 0; c < in_; ++c) {
    for (int r = 0; r < tile_rows; ++r) {
      const float* row = input + static_cast<ptrdiff_t>(c) * layout_.PlaneSize() +
                         static_cast<ptrdiff_t>(4 * (first + r)) * layout_.Stride() + 3;
      TransformInputRow(row, layout_.Stride(), tiles_x, v + static_cast<ptrdiff_t>(c) * tiles + r * tiles_x,
                        v_position, transform_scratch);
    }
  }
  const size_t weights_position = static_cast<size_t>(padded_out_) * in_;
  for (int pass = 0; pass < padded_out_; pass += kChannelsPerPass) {
    const int channels = std::min(kChannelsPerPass, padded_out_ - pass);
    const ptrdiff_t m_position = PositionStride(channels, tiles);
    // M[position][channel][tile] = U V
    for (int p = 0; p < kWinogradPositions; ++p) {
      for (int o = 0; o < channels; o += kKernelChannels) {
        const float* weights = weights_.data() + p * weights_position + static_cast<size_t>(pass + o) * in_;
        for (int t = 0; t < tiles; t += kernel_->columns) {
          kernel_->with_stride(weights, v + p * v_position + t, tiles, in_,
                               m + p * m_position + static_cast<ptrdiff_t>(o) * tiles + t, tiles);
        }
      }
    }
    for (int o = 0; o < std::min(channels, out_ - pass); ++o) {
      for (int r = 0; r < tile_rows; ++r) {
        TransformOutputRow(m + static_cast<ptrdiff_t>(o) * tiles + r * tiles_x, m_position, tiles_x, rows,
                           layout_.Stride(), transform_scratch);
        for (int i = 0; i < 4; ++i) {
          const int y = 4 * (first + r) + i;
          if (y < layout_.height) EmitRow(rows + i * layout_.Stride(), pass + o, y, output);
        }
      }
    }
  }
}

void Conv::RunDirectBlock(int block, const float* input, const Output& output, float* scratch) const {
  const int first = block * units_per_block_;
  const int last = std::min(first + units_per_block_, row_units_);
  const int padded_width = RoundUp(layout_.width, kernel_->columns);
  for (int y = first; y < last; ++y) {
    const float* base = input + layout_.Origin() + static_cast<ptrdiff_t>(y) * layout_.Stride();
    for (int o = 0; o < padded_out_; o += kKernelChannels) {
      const float* weights = weights_.data() + static_cast<size_t>(o) * in_ * 9;
      for (int x = 0; x < padded_width; x += kernel_->columns) {
        kernel_->with_offsets(weights, base + x, offsets_.data(), 9 * in_, scratch + x, padded_width);
      }
      for (int i = 0; i < std::min(kKernelChannels, out_ - o); ++i)
        EmitRow(scratch + static_cast<ptrdiff_t>(i) * padded_width, o + i, y, output);
    }
  }
}

}  // namespace lumen
