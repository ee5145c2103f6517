#include "lumen/network/conv.h"

#include <algorithm>

namespace lumen {

namespace {

constexpr int kMinWinogradChannels = 16;  // below, the transforms save little and cost digits
constexpr int kTileBytesPerBlock = 160;   // of a position: two tile rows at 80 pixels, four in half precision
constexpr int kRowsPerBlock = 8;          // direct
constexpr int kSlack = 64;                // behind matrices: loops go in whole vectors

int RoundUp(int value, int multiple) { return (value + multiple - 1) / multiple * multiple; }

}  // namespace

template <typename T>
std::vector<T> MakePlane(const PlaneLayout& layout, const Image<float>& image,
                         const Arithmetic<T>& arithmetic) {
  std::vector<float> wide(layout.BufferSize(1), 0.0F);
  for (int y = 0; y < image.Height(); ++y)
    std::copy_n(image.Row(y), image.Width(), wide.data() + layout.Origin() + y * layout.Stride());
  std::vector<T> plane(wide.size());
  arithmetic.narrow(wide.data(), static_cast<int>(wide.size()), plane.data());
  return plane;
}

template <typename T>
std::vector<T> MakeMaskPlane(const PlaneLayout& layout, const Mask& mask, const Arithmetic<T>& arithmetic) {
  Image<float> image(mask.Width(), mask.Height());
  for (size_t i = 0; i < mask.Size(); ++i) image.Data()[i] = mask.Data()[i] != 0 ? 1.0F : 0.0F;
  return MakePlane(layout, image, arithmetic);
}

template <typename T>
Conv<T>::Conv(const PlaneLayout& layout, const ConvMask& mask, const Tensor& weight, const Tensor& bias,
              const Arithmetic<T>& arithmetic)
    : layout_(layout),
      arithmetic_(&arithmetic),
      in_(static_cast<int>(weight.shape[1])),
      out_(static_cast<int>(weight.shape[0])),
      method_(ChooseMethod(in_, out_)),
      shape_(IsWinograd() ? arithmetic.product : arithmetic.direct),
      padded_out_(RoundUp(out_, shape_.channels)),
      bias_(bias.values) {
  LUMEN_CHECK(mask.valid.Width() == layout.width && mask.valid.Height() == layout.height);
  valid_ = MakeMaskPlane(layout, mask.valid, arithmetic);
  scale_ = MakePlane(layout, mask.scale, arithmetic);
  PlanBlocks(mask.valid);
  switch (method_) {
    case Method::kWinograd:
      PackWinograd(weight);
      break;
    case Method::kDirect:
      PackDirect(weight);
      break;
    case Method::kOneChannel:
      one_filter_ = weight.values;
      break;
  }
}

template <typename T>
typename Conv<T>::Method Conv<T>::ChooseMethod(int in, int out) {
  if (out == 1) return Method::kOneChannel;
  return in >= kMinWinogradChannels ? Method::kWinograd : Method::kDirect;
}

// Blocks are runs of units with about equal work; they depend on the mask alone.
template <typename T>
void Conv<T>::PlanBlocks(const Mask& valid) {
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
    const bool full = blocks_.empty() || (IsWinograd() ? blocks_.back().tiles + tiles >
                                                             kTileBytesPerBlock / static_cast<int>(sizeof(T))
                                                       : i - blocks_.back().first == kRowsPerBlock);
    if (full) blocks_.push_back({i, i, 0});
    blocks_.back().last = i + 1;
    blocks_.back().tiles += tiles;
  }
  for (BlockOfUnits& block : blocks_) block.tiles = RoundUp(block.tiles, shape_.columns);
}

template <typename T>
void Conv<T>::Narrow(const std::vector<float>& packed) {
  weights_.resize(packed.size());
  arithmetic_->narrow(packed.data(), static_cast<int>(packed.size()), weights_.data());
}

template <typename T>
void Conv<T>::PackWinograd(const Tensor& weight) {
  const size_t position_size = static_cast<size_t>(padded_out_) * in_;
  std::vector<float> packed(kWinogradPositions * position_size, 0.0F);
  for (int o = 0; o < out_; ++o) {
    for (int c = 0; c < in_; ++c) {
      float u[kWinogradPositions];
      TransformFilter(&weight.values[(static_cast<size_t>(o) * in_ + c) * 9], u);
      const size_t place =
          (static_cast<size_t>(o / shape_.channels) * in_ + c) * shape_.channels + o % shape_.channels;
      for (int p = 0; p < kWinogradPositions; ++p) packed[p * position_size + place] = u[p];
    }
  }
  Narrow(packed);
}

template <typename T>
void Conv<T>::PackDirect(const Tensor& weight) {
  std::vector<float> packed(static_cast<size_t>(padded_out_) * in_ * 9, 0.0F);
  for (int o = 0; o < out_; ++o) {
    for (int k = 0; k < 9 * in_; ++k) {
      packed[(static_cast<size_t>(o / shape_.channels) * in_ * 9 + k) * shape_.channels +
             o % shape_.channels] = weight.values[static_cast<size_t>(o) * in_ * 9 + k];
    }
  }
  Narrow(packed);
  for (int c = 0; c < in_; ++c) {
    for (int j = -1; j <= 1; ++j) {
      for (int i = -1; i <= 1; ++i) offsets_.push_back(c * layout_.PlaneSize() + j * layout_.Stride() + i);
    }
  }
}

template <typename T>
size_t Conv<T>::ScratchSize() const {
  // One row of a call's channels; or, in floats, the rows of a single channel.
  const int width = RoundUp(layout_.width, std::max(shape_.columns, kOneChannelColumns));
  if (!IsWinograd())
    return static_cast<size_t>(std::max(shape_.channels, 2 * kOneChannelRows)) * width + kSlack;
  int tiles = 0;
  for (const BlockOfUnits& block : blocks_) tiles = std::max(tiles, block.tiles);
  const ptrdiff_t v = PositionStride(in_, tiles);
  const ptrdiff_t m = PositionStride(padded_out_, tiles);
  return static_cast<size_t>(kWinogradPositions * (v + m) + 4 * kSlack);
}

template <typename T>
void Conv<T>::RunBlock(int block, ChannelShare part, const T* input, const Output& output, T* scratch) const {
  const int calls = padded_out_ / shape_.channels;
  const Channels channels{calls * part.share / part.shares * shape_.channels,
                          calls * (part.share + 1) / part.shares * shape_.channels};
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

template <typename T>
Epilogue<T> Conv<T>::EpilogueAt(int channel, int x, int y, const Output& output) const {
  const ptrdiff_t place = layout_.Origin() + static_cast<ptrdiff_t>(y) * layout_.Stride() + x;
  return {scale_.data() + place,
          valid_.data() + place,
          output.planes + static_cast<ptrdiff_t>(channel) * layout_.PlaneSize() + place,
          layout_.Stride(),
          bias_[static_cast<size_t>(channel)],
          output.relu ? 0.0F : -3e38F,
          output.sums == nullptr ? nullptr : output.sums + channel};
}

// Zeros what the unit's span leaves out; the buffer may have served another layer.
template <typename T>
void Conv<T>::ZeroOutside(int channel, int unit, const Output& output) const {
  const int size = IsWinograd() ? 4 : 1;
  const Span& span = spans_[static_cast<size_t>(unit)];
  const int begin = std::min(size * span.begin, layout_.width);
  const int end = std::min(size * span.end, layout_.width);
  if (begin == 0 && end == layout_.width) return;
  for (int y = size * unit; y < std::min(size * (unit + 1), layout_.height); ++y) {
    T* row = EpilogueAt(channel, 0, y, output).out;
    std::fill(row, row + begin, T{});
    std::fill(row + end, row + layout_.width, T{});
  }
}

template <typename T>
void Conv<T>::RunWinogradBlock(int block, Channels share, const T* input, const Output& output,
                               T* scratch) const {
  const auto [first, last, tiles] = blocks_[static_cast<size_t>(block)];
  // A position's matrix is a multiple of the cache's period apart from the next more often than not; the
  // padding in PositionStride keeps the 36 streams of the transforms from evicting each other.
  const ptrdiff_t v_position = PositionStride(in_, tiles);
  T* v = scratch;
  T* m = v + kWinogradPositions * v_position;

  // V[position][channel][tile]
  for (int c = 0; c < in_; ++c) {
    T* target = v + static_cast<ptrdiff_t>(c) * tiles;
    for (int unit = first; unit < last; ++unit) {
      const Span& span = spans_[static_cast<size_t>(unit)];
      const T* row = input + static_cast<ptrdiff_t>(c) * layout_.PlaneSize() +
                     static_cast<ptrdiff_t>(4 * unit) * layout_.Stride() + 4 * span.begin + 3;
      arithmetic_->transform_input(row, layout_.Stride(), span.Size(), target, v_position);
      target += span.Size();
    }
  }
  // M[position][channel][tile] = U V, all channels at a time, so that the weights are one stream.
  const size_t weights_position = static_cast<size_t>(padded_out_) * in_;
  const ptrdiff_t m_position = PositionStride(share.end - share.begin, tiles);
  for (int p = 0; p < kWinogradPositions; ++p) {
    T* product = m + p * m_position;
    for (int o = share.begin; o < share.end; o += shape_.channels) {
      const T* weights = weights_.data() + p * weights_position + static_cast<size_t>(o) * in_;
      arithmetic_->multiply(weights, v + p * v_position, tiles, in_, tiles, product, tiles);
      product += static_cast<ptrdiff_t>(shape_.channels) * tiles;
    }
  }
  for (int o = share.begin; o < std::min(share.end, out_); ++o) {
    EmitTiles(m + static_cast<ptrdiff_t>(o - share.begin) * tiles, m_position,
              blocks_[static_cast<size_t>(block)], o, output);
  }
}

template <typename T>
void Conv<T>::EmitTiles(const T* m, ptrdiff_t position_stride, const BlockOfUnits& block, int channel,
                        const Output& output) const {
  for (int unit = block.first; unit < block.last; ++unit) {
    ZeroOutside(channel, unit, output);
    const Span& span = spans_[static_cast<size_t>(unit)];
    arithmetic_->transform_output(m, position_stride, span.Size(),
                                  EpilogueAt(channel, 4 * span.begin, 4 * unit, output));
    m += span.Size();
  }
}

// From the first column of a call on, so that nothing is read that was not computed.
template <typename T>
template <typename Raw>
void Conv<T>::EmitRow(const Raw* raw, int channel, int y, const Output& output) const {
  ZeroOutside(channel, y, output);
  const Span& span = spans_[static_cast<size_t>(y)];
  const int begin = span.begin / shape_.columns * shape_.columns;
  const Epilogue<T> to = EpilogueAt(channel, begin, y, output);
  if constexpr (std::is_same_v<Raw, T>)
    arithmetic_->emit(raw + begin, span.end - begin, to);
  else
    arithmetic_->emit_float(raw + begin, span.end - begin, to);
}

template <typename T>
void Conv<T>::RunDirectBlock(int block, Channels channels, const T* input, const Output& output,
                             T* scratch) const {
  const auto [first, last, tiles] = blocks_[static_cast<size_t>(block)];
  const int columns = shape_.columns;
  const int padded_width = RoundUp(layout_.width, columns);
  for (int o = channels.begin; o < channels.end; o += shape_.channels) {
    const T* weights = weights_.data() + static_cast<size_t>(o) * in_ * 9;
    for (int y = first; y < last; ++y) {
      const T* base = input + layout_.Origin() + static_cast<ptrdiff_t>(y) * layout_.Stride();
      const Span& span = spans_[static_cast<size_t>(y)];
      for (int x = span.begin / columns * columns; x < span.end; x += columns)
        arithmetic_->convolve(weights, base + x, offsets_.data(), 9 * in_, scratch + x, padded_width);
      for (int i = 0; i < std::min(shape_.channels, out_ - o); ++i)
        EmitRow(scratch + static_cast<ptrdiff_t>(i) * padded_width, o + i, y, output);
    }
  }
}

// Summed in floats, whatever the input is.
template <typename T>
void Conv<T>::RunOneChannelBlock(int block, const T* input, const Output& output, T* scratch) const {
  const auto [first, last, tiles] = blocks_[static_cast<size_t>(block)];
  const int padded_width = RoundUp(layout_.width, kOneChannelColumns);
  auto* raw = reinterpret_cast<float*>(scratch);
  for (int y = first; y < last; y += kOneChannelRows) {
    std::fill_n(raw, kOneChannelRows * padded_width, 0.0F);
    for (int c = 0; c < in_; ++c) {  // outermost, because a plane's rows lie side by side
      const T* rows = input + static_cast<ptrdiff_t>(c) * layout_.PlaneSize() + layout_.Origin() +
                      static_cast<ptrdiff_t>(y) * layout_.Stride();
      for (int x = 0; x < padded_width; x += kOneChannelColumns)
        arithmetic_->add_channel(rows + x, layout_.Stride(), &one_filter_[static_cast<size_t>(9) * c],
                                 raw + x, padded_width);
    }
    for (int i = 0; i < std::min(kOneChannelRows, last - y); ++i)
      EmitRow(raw + static_cast<ptrdiff_t>(i) * padded_width, 0, y + i, output);
  }
}

template class Conv<float>;
template class Conv<Half>;
template std::vector<float> MakePlane(const PlaneLayout&, const Image<float>&, const Arithmetic<float>&);
template std::vector<Half> MakePlane(const PlaneLayout&, const Image<float>&, const Arithmetic<Half>&);
template std::vector<float> MakeMaskPlane(const PlaneLayout&, const Mask&, const Arithmetic<float>&);
template std::vector<Half> MakeMaskPlane(const PlaneLayout&, const Mask&, const Arithmetic<Half>&);

}  // namespace lumen
