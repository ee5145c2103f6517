#include "lumen/network/engine.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/parallel.h"
#include "lumen/image/mask.h"
#include "lumen/network/fast_math.h"

namespace lumen {

struct NetworkEngine::Block {
  static std::unique_ptr<Block> Make(const NetworkSpec& spec, const BlockSpec& block, const BlockMasks& masks,
                                     const std::map<std::string, Tensor>& tensors, const GemmKernel& kernel);

  BlockSpec spec;
  PlaneLayout layout;
  Conv conv1, conv2;
  int groups;
  std::vector<float> norm_weight, norm_bias;
  std::vector<float> input_valid;   // plane: the mask that enters
  std::vector<float> middle_valid;  // plane: the mask between the convolutions
  // Of the trunk only. Each buffer serves one size alone, so that its border, zero at first, stays zero.
  Planes gathered;  // kUp: what enters
  Planes middle;    // between the convolutions
  Planes output;    // kDown: also the skip
  Planes pooled;    // kDown: half the size
};

namespace {

constexpr int kColors = 3;
constexpr int kRowsPerChunk = 8;  // of maps, where rows go side by side

std::vector<float> MaskPlane(const PlaneLayout& layout, const Mask& mask) {
  std::vector<float> plane(layout.BufferSize(1), 0.0F);
  for (int y = 0; y < mask.Height(); ++y) {
    float* row = plane.data() + layout.Origin() + static_cast<ptrdiff_t>(y) * layout.Stride();
    for (int x = 0; x < mask.Width(); ++x) row[x] = mask(x, y) != 0 ? 1.0F : 0.0F;
  }
  return plane;
}

void MultiplyPlane(const float* source, const float* mask, int size, float* target) {
  for (int i = 0; i < size; ++i) target[i] = source[i] * mask[i];
}

// Nearest doubling of a plane, masked.
void DoublePlane(const float* coarse, const PlaneLayout& from, const float* mask, const PlaneLayout& to,
                 float* target) {
  for (int y = 0; y < to.height; ++y) {
    const float* source = coarse + from.Origin() + (y / 2) * from.Stride();
    const int place = to.Origin() + y * to.Stride();
    for (int x = 0; x < to.width / 2; ++x) {
      target[place + 2 * x] = source[x] * mask[place + 2 * x];
      target[place + 2 * x + 1] = source[x] * mask[place + 2 * x + 1];
    }
  }
}

void MaxPoolPlane(const float* fine, const PlaneLayout& from, const PlaneLayout& to, float* target) {
  for (int y = 0; y < to.height; ++y) {
    const float* a = fine + from.Origin() + 2 * y * from.Stride();
    const float* b = a + from.Stride();
    float* out = target + to.Origin() + y * to.Stride();
    for (int x = 0; x < to.width; ++x)
      out[x] = std::max(std::max(a[2 * x], a[2 * x + 1]), std::max(b[2 * x], b[2 * x + 1]));
  }
}

}  // namespace

std::unique_ptr<NetworkEngine::Block> NetworkEngine::Block::Make(const NetworkSpec& spec,
                                                                 const BlockSpec& block,
                                                                 const BlockMasks& masks,
                                                                 const std::map<std::string, Tensor>& tensors,
                                                                 const GemmKernel& kernel) {
  using Role = BlockSpec::Role;
  const PlaneLayout layout{spec.input_width >> block.level, spec.input_height >> block.level};
  const auto tensor = [&](const char* name) -> const Tensor& {
    return tensors.at(spec.name + "." + block.name + name);
  };
  std::unique_ptr<Block> made(
      new Block{block,
                layout,
                Conv(layout, masks.conv1, tensor(".conv1.weight"), tensor(".conv1.bias"), kernel),
                Conv(layout, masks.conv2, tensor(".conv2.weight"), tensor(".conv2.bias"), kernel),
                CountGroups(spec, block.out),
                tensor(".norm.weight").values,
                tensor(".norm.bias").values,
                MaskPlane(layout, masks.input),
                MaskPlane(layout, masks.conv1.valid),
                {},
                {},
                {},
                {}});
  if (block.role == Role::kHead) return made;
  made->middle.assign(layout.BufferSize(block.out), 0.0F);
  made->output.assign(layout.BufferSize(block.out), 0.0F);
  if (block.role == Role::kUp) made->gathered.assign(layout.BufferSize(block.in), 0.0F);
  const PlaneLayout half{layout.width / 2, layout.height / 2};
  if (block.role == Role::kDown) made->pooled.assign(half.BufferSize(block.out), 0.0F);
  return made;
}

NetworkEngine::NetworkEngine(const NetworkSpec& spec, const std::map<std::string, Tensor>& tensors,
                             const LensView& view, const EngineOptions& options)
    : spec_(spec), options_(options) {
  LUMEN_CHECK(options.threads >= 1 && options.kernel != nullptr);
  if (CountMask(view.mask) == 0) throw InputError("the mask leaves no part of the image");
  using Role = BlockSpec::Role;
  const std::vector<BlockMasks> masks = PlanMasks(spec, view.mask);
  size_t scratch = 0;
  size_t sums = 0;
  int widest = 0;
  for (const BlockSpec& block : ListBlocks(spec)) {
    blocks_.push_back(Block::Make(spec, block, masks[blocks_.size()], tensors, *options.kernel));
    for (const Conv* conv : {&blocks_.back()->conv1, &blocks_.back()->conv2}) {
      scratch = std::max(scratch, conv->ScratchSize());
      sums = std::max(sums, static_cast<size_t>(conv->NumBlocks()) * static_cast<size_t>(conv->Out()));
    }
    widest = std::max(widest, block.out);
    if (block.role != Role::kHead) first_head_ = blocks_.size();
  }
  const PlaneLayout& head = blocks_.back()->layout;
  image_.assign(blocks_.front()->layout.BufferSize(spec.input_channels), 0.0F);
  if (spec.input_channels > kColors) LoadAngles(view.angles);
  head_input_.assign(head.BufferSize(blocks_[first_head_]->spec.in), 0.0F);
  head_middle_.assign(head.BufferSize(widest), 0.0F);
  for (Planes& output : head_output_) output.assign(head.BufferSize(widest), 0.0F);
  scratch_.assign(static_cast<size_t>(options.threads), Planes(scratch));
  block_sums_.resize(sums);
  sums_.resize(static_cast<size_t>(widest));
}

NetworkEngine::~NetworkEngine() = default;

void NetworkEngine::RunConv(const Conv& conv, const float* input, Planes& output, bool relu, bool want_sums) {
  if (want_sums) std::fill_n(block_sums_.begin(), conv.NumBlocks() * conv.Out(), ChannelSums{});
  // Each thread takes one contiguous share of the blocks, or of the channels where blocks are too few, with
  // a scratch of its own.
  const int threads = options_.threads;
  const bool by_channels = conv.NumBlocks() < threads;
  ParallelFor(threads, threads, [&](int64_t index) {
    const int share = static_cast<int>(index);
    const int begin = by_channels ? 0 : share * conv.NumBlocks() / threads;
    const int end = by_channels ? conv.NumBlocks() : (share + 1) * conv.NumBlocks() / threads;
    const Conv::ChannelShare part = by_channels ? Conv::ChannelShare{share, threads} : Conv::ChannelShare{};
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

void NetworkEngine::Normalise(const Block& block, Planes& planes) const {
  const int per_group = block.spec.out / block.groups;
  const double count = static_cast<double>(block.layout.width) * block.layout.height * per_group;
  ParallelFor(block.groups, options_.threads, [&](int64_t g) {
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
      float* plane = planes.data() + static_cast<ptrdiff_t>(c) * block.layout.PlaneSize();
      const float* valid = block.middle_valid.data();
      // The mask also keeps the border zero.
      for (int i = 0; i < block.layout.PlaneSize(); ++i)
        plane[i] = std::max(plane[i] * slope + shift, 0.0F) * valid[i];
    }
  });
}

void NetworkEngine::RunBlock(const Block& block, const float* input, Planes& middle, Planes& output) {
  RunConv(block.conv1, input, middle, false, true);
  Normalise(block, middle);
  RunConv(block.conv2, middle.data(), output, block.spec.activation == Activation::kRelu, false);
}

// The same for all frames, behind the colours.
void NetworkEngine::LoadAngles(const Image<float>& angles) {
  const PlaneLayout& layout = blocks_.front()->layout;
  for (int y = 0; y < angles.Height(); ++y) {
    const int place = layout.Origin() + y * layout.Stride();
    const float* valid = blocks_.front()->input_valid.data() + place;
    float* row = image_.data() + static_cast<ptrdiff_t>(kColors) * layout.PlaneSize() + place;
    for (int x = 0; x < angles.Width(); ++x) row[x] = angles(x, y) * valid[x];
  }
}

void NetworkEngine::LoadImage(ImageView<const uint8_t> rgb) {
  const PlaneLayout& layout = blocks_.front()->layout;
  for (int c = 0; c < kColors; ++c) {
    for (int y = 0; y < rgb.Height(); ++y) {
      const int place = layout.Origin() + y * layout.Stride();
      const float* valid = blocks_.front()->input_valid.data() + place;
      const uint8_t* pixels = rgb.Row(y) + c;
      float* row = image_.data() + static_cast<ptrdiff_t>(c) * layout.PlaneSize() + place;
      for (int x = 0; x < rgb.Width(); ++x)
        row[x] = static_cast<float>(pixels[x * kColors]) * (1.0F / 255.0F) * valid[x];
    }
  }
}

// What enters an up block: the block below, doubled, and the skip behind it; both masked.
const float* NetworkEngine::GatherUpInput(Block& block, const Block& below) {
  const Block& skip = *blocks_[static_cast<size_t>(block.spec.skip)];
  const int plane = block.layout.PlaneSize();
  ParallelFor(below.spec.out, options_.threads, [&](int64_t c) {
    DoublePlane(below.output.data() + c * below.layout.PlaneSize(), below.layout, block.input_valid.data(),
                block.layout, block.gathered.data() + c * plane);
  });
  ParallelFor(skip.spec.out, options_.threads, [&](int64_t c) {
    MultiplyPlane(skip.output.data() + c * plane, block.input_valid.data(), plane,
                  block.gathered.data() + (below.spec.out + c) * plane);
  });
  return block.gathered.data();
}

void NetworkEngine::RunTrunk(ImageView<const uint8_t> rgb) {
  LUMEN_CHECK(
      rgb.Width() == spec_.input_width && rgb.Height() == spec_.input_height && rgb.Channels() == kColors,
      rgb.Width(), "x", rgb.Height(), "x", rgb.Channels());
  LoadImage(rgb);
  const float* current = image_.data();
  for (size_t b = 0; b < first_head_; ++b) {
    Block& block = *blocks_[b];
    if (block.spec.role == BlockSpec::Role::kUp) current = GatherUpInput(block, *blocks_[b - 1]);
    RunBlock(block, current, block.middle, block.output);
    current = block.output.data();
    if (block.spec.role != BlockSpec::Role::kDown) continue;
    const PlaneLayout& half = blocks_[b + 1]->layout;
    ParallelFor(block.spec.out, options_.threads, [&](int64_t c) {
      MaxPoolPlane(block.output.data() + c * block.layout.PlaneSize(), block.layout, half,
                   block.pooled.data() + c * half.PlaneSize());
    });
    current = block.pooled.data();
  }
  have_trunk_ = true;
}

Image<float> NetworkEngine::RunHead(int head) {
  LUMEN_CHECK(have_trunk_ && head >= 0 && head < static_cast<int>(spec_.heads.size()));
  const Planes& trunk = blocks_[first_head_ - 1]->output;
  const float* current = nullptr;
  const Block* last = nullptr;
  int turn = 0;
  for (size_t b = first_head_; b < blocks_.size(); ++b) {
    const Block& block = *blocks_[b];
    if (block.spec.head != head) continue;
    if (block.spec.starts_head) {
      // The trunk's output is valid in a dilated mask; a head begins with the undilated one.
      for (int c = 0; c < block.spec.in; ++c) {
        const ptrdiff_t place = static_cast<ptrdiff_t>(c) * block.layout.PlaneSize();
        MultiplyPlane(trunk.data() + place, block.input_valid.data(), block.layout.PlaneSize(),
                      head_input_.data() + place);
      }
      current = head_input_.data();
    }
    RunBlock(block, current, head_middle_, head_output_[turn]);
    current = head_output_[turn].data();
    turn = 1 - turn;
    last = &block;
  }
  Image<float> output(last->layout.width, last->layout.height, last->spec.out);
  ParallelChunks(output.Height(), kRowsPerChunk, options_.threads, [&](int64_t begin, int64_t end) {
    for (int64_t y = begin; y < end; ++y)
      InterleaveRow(current, last->layout, last->spec.activation, static_cast<int>(y), output);
  });
  return output;
}

}  // namespace lumen
