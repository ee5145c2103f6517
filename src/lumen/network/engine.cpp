#include "lumen/network/engine.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "lumen/base/parallel.h"
#include "lumen/image/mask.h"
#include "lumen/network/conv.h"
#include "lumen/network/fast_math.h"

namespace lumen {

namespace {

constexpr int kColors = 3;
constexpr int kRowsPerChunk = 8;  // of maps, where rows go side by side

// What is not finite stays so when it is multiplied by zero; anything else adds nothing.
bool AllFinite(const std::vector<float>& values) {
  float sum = 0;
  for (const float value : values) sum += 0 * value;
  return sum == 0;
}

template <typename T>
struct Block {
  using Planes = std::vector<T>;

  static std::unique_ptr<Block> Make(const NetworkSpec& spec, const BlockSpec& block, const BlockMasks& masks,
                                     const std::map<std::string, Tensor>& tensors,
                                     const Arithmetic<T>& arithmetic);

  BlockSpec spec;
  PlaneLayout layout;
  Conv<T> conv1, conv2;
  int groups;
  std::vector<float> norm_weight, norm_bias;
  Planes input_valid;   // one plane: the mask that enters
  Planes middle_valid;  // one plane: the mask between the convolutions
  // Of the trunk only. Each buffer serves one size alone, so that its border, zero at first, stays zero.
  Planes gathered;  // kUp: what enters
  Planes middle;    // between the convolutions
  Planes output;    // kDown: also the skip
  Planes pooled;    // kDown: half the size
};

template <typename T>
std::unique_ptr<Block<T>> Block<T>::Make(const NetworkSpec& spec, const BlockSpec& block,
                                         const BlockMasks& masks,
                                         const std::map<std::string, Tensor>& tensors,
                                         const Arithmetic<T>& arithmetic) {
  using Role = BlockSpec::Role;
  const PlaneLayout layout{spec.input_width >> block.level, spec.input_height >> block.level};
  const auto tensor = [&](const char* name) -> const Tensor& {
    return tensors.at(spec.name + "." + block.name + name);
  };
  std::unique_ptr<Block> made(
      new Block{block,
                layout,
                Conv<T>(layout, masks.conv1, tensor(".conv1.weight"), tensor(".conv1.bias"), arithmetic),
                Conv<T>(layout, masks.conv2, tensor(".conv2.weight"), tensor(".conv2.bias"), arithmetic),
                CountGroups(spec, block.out),
                tensor(".norm.weight").values,
                tensor(".norm.bias").values,
                MakeMaskPlane(layout, masks.input, arithmetic),
                MakeMaskPlane(layout, masks.conv1.valid, arithmetic),
                {},
                {},
                {},
                {}});
  if (block.role == Role::kHead) return made;
  made->middle.assign(layout.BufferSize(block.out), T{});
  made->output.assign(layout.BufferSize(block.out), T{});
  if (block.role == Role::kUp) made->gathered.assign(layout.BufferSize(block.in), T{});
  const PlaneLayout half{layout.width / 2, layout.height / 2};
  if (block.role == Role::kDown) made->pooled.assign(half.BufferSize(block.out), T{});
  return made;
}

}  // namespace

class NetworkEngine::Runner {
 public:
  virtual ~Runner() = default;
  virtual void RunTrunk(ImageView<const uint8_t> rgb) = 0;
  virtual Image<float> RunHead(int head) = 0;
  virtual bool IsFinite() const = 0;
};

template <typename T>
class NetworkEngine::TypedRunner : public NetworkEngine::Runner {
 public:
  TypedRunner(const NetworkSpec& spec, const std::map<std::string, Tensor>& tensors, const LensView& view,
              int threads, const Arithmetic<T>& arithmetic);
  void RunTrunk(ImageView<const uint8_t> rgb) override;
  Image<float> RunHead(int head) override;
  bool IsFinite() const override { return finite_; }

 private:
  using Planes = std::vector<T>;

  void LoadImage(ImageView<const uint8_t> rgb);
  void LoadAngles(const Image<float>& angles);
  const T* GatherUpInput(Block<T>& block, const Block<T>& below);
  void Pool(Block<T>& block, const Block<T>& next) const;
  void RunBlock(const Block<T>& block, const T* input, Planes& middle, Planes& output);
  void Normalise(const Block<T>& block, Planes& planes) const;
  void RunConv(const Conv<T>& conv, const T* input, Planes& output, bool relu, bool want_sums);
  Image<float> Interleave(const Block<T>& block, const T* planes);

  const int threads_;
  const Arithmetic<T>& arithmetic_;
  std::vector<std::unique_ptr<Block<T>>> blocks_;
  size_t first_head_ = 0;
  Planes image_;
  std::vector<float> image_row_;
  // Heads run one after the other at one size and share these.
  Planes head_input_, head_middle_, head_output_[2];
  std::vector<Planes> scratch_;  // per thread
  std::vector<ChannelSums> block_sums_, sums_;
  std::atomic<bool> finite_ = true;
};

template <typename T>
NetworkEngine::TypedRunner<T>::TypedRunner(const NetworkSpec& spec,
                                           const std::map<std::string, Tensor>& tensors, const LensView& view,
                                           int threads, const Arithmetic<T>& arithmetic)
    : threads_(threads), arithmetic_(arithmetic) {
  using Role = BlockSpec::Role;
  const std::vector<BlockMasks> masks = PlanMasks(spec, view.mask);
  size_t scratch = 0;
  size_t sums = 0;
  int widest = 0;
  for (const BlockSpec& block : ListBlocks(spec)) {
    blocks_.push_back(Block<T>::Make(spec, block, masks[blocks_.size()], tensors, arithmetic));
    for (const Conv<T>* conv : {&blocks_.back()->conv1, &blocks_.back()->conv2}) {
      scratch = std::max(scratch, conv->ScratchSize());
      sums = std::max(sums, static_cast<size_t>(conv->NumBlocks()) * static_cast<size_t>(conv->Out()));
    }
    widest = std::max(widest, block.out);
    if (block.role != Role::kHead) first_head_ = blocks_.size();
  }
  const PlaneLayout& head = blocks_.back()->layout;
  image_.assign(blocks_.front()->layout.BufferSize(spec.input_channels), T{});
  image_row_.resize(static_cast<size_t>(spec.input_width));
  if (spec.input_channels > kColors) LoadAngles(view.angles);
  head_input_.assign(head.BufferSize(blocks_[first_head_]->spec.in), T{});
  head_middle_.assign(head.BufferSize(widest), T{});
  for (Planes& output : head_output_) output.assign(head.BufferSize(widest), T{});
  scratch_.assign(static_cast<size_t>(threads), Planes(scratch));
  block_sums_.resize(sums);
  sums_.resize(static_cast<size_t>(widest));
}

template <typename T>
void NetworkEngine::TypedRunner<T>::RunConv(const Conv<T>& conv, const T* input, Planes& output, bool relu,
                                            bool want_sums) {
  if (want_sums) std::fill_n(block_sums_.begin(), conv.NumBlocks() * conv.Out(), ChannelSums{});
  // Each thread takes one contiguous share of the blocks, or of the channels where blocks are too few, with
  // a scratch of its own.
  const int threads = threads_;
  const bool by_channels = conv.NumBlocks() < threads;
  ParallelFor(threads, threads, [&](int64_t index) {
    const int share = static_cast<int>(index);
    const int begin = by_channels ? 0 : share * conv.NumBlocks() / threads;
    const int end = by_channels ? conv.NumBlocks() : (share + 1) * conv.NumBlocks() / threads;
    const typename Conv<T>::ChannelShare part =
        by_channels ? typename Conv<T>::ChannelShare{share, threads} : typename Conv<T>::ChannelShare{};
    for (int block = begin; block < end; ++block) {
      ChannelSums* sums = want_sums ? &block_sums_[static_cast<size_t>(block) * conv.Out()] : nullptr;
      conv.RunBlock(block, part, input, {output.data(), relu, sums},
                    scratch_[static_cast<size_t>(share)].data());
    }
  });
  if (!want_sums) return;
  for (int c = 0; c < conv.Out(); ++c) {  // in the blocks' order, whatever the thread count
    sums_[c] = {};
    for (int block = 0; block < conv.NumBlocks(); ++block) {
      const ChannelSums& part = block_sums_[static_cast<size_t>(block) * conv.Out() + c];
      sums_[c].sum += part.sum;
      sums_[c].squares += part.squares;
    }
  }
}

template <typename T>
void NetworkEngine::TypedRunner<T>::Normalise(const Block<T>& block, Planes& planes) const {
  const int per_group = block.spec.out / block.groups;
  const double count = static_cast<double>(block.layout.width) * block.layout.height * per_group;
  ParallelFor(block.groups, threads_, [&](int64_t g) {
    double sum = 0;
    double squares = 0;
    const int first = static_cast<int>(g) * per_group;
    for (int c = first; c < first + per_group; ++c) {
      sum += sums_[c].sum;
      squares += sums_[c].squares;
    }
    const double mean = sum / count;
    const double inverse = 1.0 / std::sqrt(std::max(0.0, squares / count - mean * mean) + 1e-5);
    for (int c = first; c < first + per_group; ++c) {
      const auto slope = static_cast<float>(inverse * block.norm_weight[c]);
      const auto shift = static_cast<float>(block.norm_bias[c] - mean * inverse * block.norm_weight[c]);
      T* plane = planes.data() + static_cast<ptrdiff_t>(c) * block.layout.PlaneSize();
      // The mask also keeps the border zero.
      arithmetic_.normalise(plane, block.layout.PlaneSize(), slope, shift, block.middle_valid.data());
    }
  });
}

template <typename T>
void NetworkEngine::TypedRunner<T>::RunBlock(const Block<T>& block, const T* input, Planes& middle,
                                             Planes& output) {
  RunConv(block.conv1, input, middle, false, true);
  Normalise(block, middle);
  RunConv(block.conv2, middle.data(), output, block.spec.activation == Activation::kRelu, false);
}

// The same for all frames, behind the colours.
template <typename T>
void NetworkEngine::TypedRunner<T>::LoadAngles(const Image<float>& angles) {
  const PlaneLayout& layout = blocks_.front()->layout;
  const Planes plane = MakePlane(layout, angles, arithmetic_);
  arithmetic_.mask(plane.data(), blocks_.front()->input_valid.data(), layout.PlaneSize(),
                   image_.data() + static_cast<ptrdiff_t>(kColors) * layout.PlaneSize());
}

template <typename T>
void NetworkEngine::TypedRunner<T>::LoadImage(ImageView<const uint8_t> rgb) {
  const PlaneLayout& layout = blocks_.front()->layout;
  for (int c = 0; c < kColors; ++c) {
    for (int y = 0; y < rgb.Height(); ++y) {
      const int place = layout.Origin() + y * layout.Stride();
      const uint8_t* pixels = rgb.Row(y) + c;
      for (int x = 0; x < rgb.Width(); ++x)
        image_row_[static_cast<size_t>(x)] = static_cast<float>(pixels[x * kColors]) * (1.0F / 255.0F);
      T* row = image_.data() + static_cast<ptrdiff_t>(c) * layout.PlaneSize() + place;
      arithmetic_.narrow(image_row_.data(), rgb.Width(), row);
      arithmetic_.mask(row, blocks_.front()->input_valid.data() + place, rgb.Width(), row);
    }
  }
}

// What enters an up block: the block below, doubled, and the skip behind it; both masked.
template <typename T>
const T* NetworkEngine::TypedRunner<T>::GatherUpInput(Block<T>& block, const Block<T>& below) {
  const Block<T>& skip = *blocks_[static_cast<size_t>(block.spec.skip)];
  const int plane = block.layout.PlaneSize();
  const T* valid = block.input_valid.data();
  ParallelFor(below.spec.out, threads_, [&](int64_t c) {
    for (int y = 0; y < block.layout.height; ++y) {
      const int place = block.layout.At(y);
      arithmetic_.twice(below.output.data() + c * below.layout.PlaneSize() + below.layout.At(y / 2),
                        valid + place, below.layout.width, block.gathered.data() + c * plane + place);
    }
  });
  ParallelFor(skip.spec.out, threads_, [&](int64_t c) {
    arithmetic_.mask(skip.output.data() + c * plane, valid, plane,
                     block.gathered.data() + (below.spec.out + c) * plane);
  });
  return block.gathered.data();
}

// What the next block down takes in.
template <typename T>
void NetworkEngine::TypedRunner<T>::Pool(Block<T>& block, const Block<T>& next) const {
  ParallelFor(block.spec.out, threads_, [&](int64_t c) {
    const T* fine = block.output.data() + c * block.layout.PlaneSize();
    T* coarse = block.pooled.data() + c * next.layout.PlaneSize();
    for (int y = 0; y < next.layout.height; ++y) {
      const int place = next.layout.At(y);
      arithmetic_.halve(fine + block.layout.At(2 * y), fine + block.layout.At(2 * y + 1),
                        next.input_valid.data() + place, next.layout.width, coarse + place);
    }
  });
}

template <typename T>
void NetworkEngine::TypedRunner<T>::RunTrunk(ImageView<const uint8_t> rgb) {
  LoadImage(rgb);
  const T* current = image_.data();
  for (size_t b = 0; b < first_head_; ++b) {
    Block<T>& block = *blocks_[b];
    if (block.spec.role == BlockSpec::Role::kUp) current = GatherUpInput(block, *blocks_[b - 1]);
    RunBlock(block, current, block.middle, block.output);
    current = block.output.data();
    if (block.spec.role != BlockSpec::Role::kDown) continue;
    Pool(block, *blocks_[b + 1]);
    current = block.pooled.data();
  }
}

template <typename T>
Image<float> NetworkEngine::TypedRunner<T>::RunHead(int head) {
  const Planes& trunk = blocks_[first_head_ - 1]->output;
  const T* current = nullptr;
  const Block<T>* last = nullptr;
  int turn = 0;
  for (size_t b = first_head_; b < blocks_.size(); ++b) {
    const Block<T>& block = *blocks_[b];
    if (block.spec.head != head) continue;
    if (block.spec.starts_head) {
      // The trunk's output is valid in a dilated mask; a head begins with the undilated one.
      for (int c = 0; c < block.spec.in; ++c) {
        const ptrdiff_t place = static_cast<ptrdiff_t>(c) * block.layout.PlaneSize();
        arithmetic_.mask(trunk.data() + place, block.input_valid.data(), block.layout.PlaneSize(),
                         head_input_.data() + place);
      }
      current = head_input_.data();
    }
    RunBlock(block, current, head_middle_, head_output_[turn]);
    current = head_output_[turn].data();
    turn = 1 - turn;
    last = &block;
  }
  return Interleave(*last, current);
}

template <typename T>
Image<float> NetworkEngine::TypedRunner<T>::Interleave(const Block<T>& block, const T* planes) {
  const PlaneLayout& layout = block.layout;
  const int channels = block.spec.out;
  const int stride = layout.width + 8;
  Image<float> output(layout.width, layout.height, channels);
  finite_ = true;
  ParallelChunks(output.Height(), kRowsPerChunk, threads_, [&](int64_t begin, int64_t end) {
    std::vector<float> rows(static_cast<size_t>(channels) * stride);
    for (int64_t y = begin; y < end; ++y) {
      for (int c = 0; c < channels; ++c)
        arithmetic_.widen(
            planes + static_cast<ptrdiff_t>(c) * layout.PlaneSize() + layout.At(static_cast<int>(y)),
            layout.width, rows.data() + static_cast<ptrdiff_t>(c) * stride);
      if (!AllFinite(rows)) finite_ = false;
      InterleaveRow(rows.data(), stride, block.spec.activation, static_cast<int>(y), output);
    }
  });
  return output;
}

NetworkEngine::NetworkEngine(const NetworkSpec& spec, const std::map<std::string, Tensor>& tensors,
                             const LensView& view, const EngineOptions& options)
    : spec_(spec) {
  LUMEN_CHECK(options.threads >= 1);
  if (CountMask(view.mask) == 0) throw InputError("the mask leaves no part of the image");
  if (options.half != nullptr)
    runner_ = std::make_unique<TypedRunner<Half>>(spec, tensors, view, options.threads, *options.half);
  else
    runner_ = std::make_unique<TypedRunner<float>>(spec, tensors, view, options.threads, FloatArithmetic());
}

NetworkEngine::~NetworkEngine() = default;

void NetworkEngine::RunTrunk(ImageView<const uint8_t> rgb) {
  LUMEN_CHECK(
      rgb.Width() == spec_.input_width && rgb.Height() == spec_.input_height && rgb.Channels() == kColors,
      rgb.Width(), "x", rgb.Height(), "x", rgb.Channels());
  runner_->RunTrunk(rgb);
  have_trunk_ = true;
}

Image<float> NetworkEngine::RunHead(int head) {
  LUMEN_CHECK(have_trunk_ && head >= 0 && head < static_cast<int>(spec_.heads.size()));
  return runner_->RunHead(head);
}

bool NetworkEngine::IsFinite() const { return runner_->IsFinite(); }

}  // namespace lumen
