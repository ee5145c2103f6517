#include "lumen/network/plain_network.h"

#include <algorithm>
#include <cmath>

namespace lumen {

Image<double> PlainPartialConv(const Image<double>& input, const Mask& mask, const Tensor& weight,
                               const Tensor& bias) {
  const auto out = static_cast<int>(weight.shape[0]);
  const auto in = static_cast<int>(weight.shape[1]);
  LUMEN_CHECK(input.Channels() == in && SameSize(input, mask));
  const ConvMask plan = MakeConvMask(mask);
  Image<double> result(input.Width(), input.Height(), out);
  for (int y = 0; y < input.Height(); ++y) {
    for (int x = 0; x < input.Width(); ++x) {
      if (plan.valid(x, y) == 0) continue;
      for (int o = 0; o < out; ++o) {
        double sum = 0;
        for (int j = 0; j < 3; ++j) {
          for (int i = 0; i < 3; ++i) {
            const int sx = x + i - 1;
            const int sy = y + j - 1;
            if (!input.Contains(sx, sy) || mask(sx, sy) == 0) continue;
            const double* pixel = input.Pixel(sx, sy);
            for (int c = 0; c < in; ++c)
              sum += pixel[c] * weight.values[((static_cast<size_t>(o) * in + c) * 3 + j) * 3 + i];
          }
        }
        result(x, y, o) = sum * plan.scale(x, y) + bias.values[o];
      }
    }
  }
  return result;
}

namespace {

// Over the whole map, the zeros outside the mask included.
void GroupNormRelu(Image<double>& map, int groups, const Tensor& weight, const Tensor& bias) {
  const int per_group = map.Channels() / groups;
  const double count = static_cast<double>(map.Width()) * map.Height() * per_group;
  for (int g = 0; g < groups; ++g) {
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i < map.Size(); ++i) {
      if (static_cast<int>(i % map.Channels()) / per_group != g) continue;
      sum += map.Data()[i];
      squares += map.Data()[i] * map.Data()[i];
    }
    const double mean = sum / count;
    const double inverse = 1.0 / std::sqrt(squares / count - mean * mean + 1e-5);
    for (size_t i = 0; i < map.Size(); ++i) {
      const size_t c = i % map.Channels();
      if (static_cast<int>(c) / per_group != g) continue;
      map.Data()[i] = std::max(0.0, (map.Data()[i] - mean) * inverse * weight.values[c] + bias.values[c]);
    }
  }
}

void Activate(Image<double>& map, Activation activation) {
  for (size_t i = 0; i < map.Size(); ++i) {
    double& value = map.Data()[i];
    if (activation == Activation::kRelu) value = std::max(0.0, value);
    if (activation == Activation::kAbs) value = std::abs(value);
    if (activation == Activation::kTanh) value = std::tanh(value);
  }
}

Image<double> MaxPool(const Image<double>& map) {
  Image<double> out(map.Width() / 2, map.Height() / 2, map.Channels());
  for (int y = 0; y < out.Height(); ++y) {
    for (int x = 0; x < out.Width(); ++x) {
      for (int c = 0; c < out.Channels(); ++c) {
        out(x, y, c) = std::max(std::max(map(2 * x, 2 * y, c), map(2 * x + 1, 2 * y, c)),
                                std::max(map(2 * x, 2 * y + 1, c), map(2 * x + 1, 2 * y + 1, c)));
      }
    }
  }
  return out;
}

Image<double> DoubleAndAppend(const Image<double>& coarse, const Image<double>& skip) {
  Image<double> out(skip.Width(), skip.Height(), coarse.Channels() + skip.Channels());
  for (int y = 0; y < out.Height(); ++y) {
    for (int x = 0; x < out.Width(); ++x) {
      std::copy_n(coarse.Pixel(x / 2, y / 2), coarse.Channels(), out.Pixel(x, y));
      std::copy_n(skip.Pixel(x, y), skip.Channels(), out.Pixel(x, y) + coarse.Channels());
    }
  }
  return out;
}

Image<double> RunBlock(const Image<double>& input, const BlockSpec& block, const BlockMasks& masks,
                       const NetworkSpec& spec, const std::map<std::string, Tensor>& tensors) {
  const std::string prefix = spec.name + "." + block.name;
  Image<double> map = PlainPartialConv(input, masks.input, tensors.at(prefix + ".conv1.weight"),
                                       tensors.at(prefix + ".conv1.bias"));
  GroupNormRelu(map, CountGroups(spec, block.out), tensors.at(prefix + ".norm.weight"),
                tensors.at(prefix + ".norm.bias"));
  map = PlainPartialConv(map, masks.conv1.valid, tensors.at(prefix + ".conv2.weight"),
                         tensors.at(prefix + ".conv2.bias"));
  Activate(map, block.activation);
  return map;
}

}  // namespace

std::vector<Image<float>> RunPlainNetwork(const NetworkSpec& spec,
                                          const std::map<std::string, Tensor>& tensors, const LensView& view,
                                          ImageView<const uint8_t> rgb) {
  using Role = BlockSpec::Role;
  const std::vector<BlockSpec> blocks = ListBlocks(spec);
  const std::vector<BlockMasks> masks = PlanMasks(spec, view.mask);
  Image<double> current(rgb.Width(), rgb.Height(), spec.input_channels);
  for (int y = 0; y < rgb.Height(); ++y) {
    for (int x = 0; x < rgb.Width(); ++x) {
      for (int c = 0; c < rgb.Channels(); ++c) current(x, y, c) = rgb.Pixel(x, y)[c] / 255.0;
      if (spec.input_channels > rgb.Channels()) current(x, y, rgb.Channels()) = view.angles(x, y);
    }
  }
  std::vector<Image<double>> skips;
  Image<double> trunk;
  std::vector<Image<float>> outputs;
  for (size_t b = 0; b < blocks.size(); ++b) {
    const BlockSpec& block = blocks[b];
    if (block.role == Role::kUp) current = DoubleAndAppend(current, skips[static_cast<size_t>(block.skip)]);
    if (block.role == Role::kHead && trunk.Empty()) trunk = current;
    if (block.starts_head) current = trunk;
    current = RunBlock(current, block, masks[b], spec, tensors);
    if (block.role == Role::kDown) {
      skips.push_back(current);
      current = MaxPool(current);
    }
    const bool ends_head = block.role == Role::kHead && (b + 1 == blocks.size() || blocks[b + 1].starts_head);
    if (!ends_head) continue;
    Image<float> output(current.Width(), current.Height(), current.Channels());
    for (size_t i = 0; i < output.Size(); ++i) output.Data()[i] = static_cast<float>(current.Data()[i]);
    outputs.push_back(std::move(output));
  }
  return outputs;
}

}  // namespace lumen
