#include "lumen/network/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lumen/base/random.h"
#include "lumen/network/fast_math.h"
#include "lumen/network/plain_network.h"
#include "lumen/network/weights.h"

namespace lumen {
namespace {

enum class MaskKind { kFull, kCircle, kRagged };

Mask MakeMask(MaskKind kind, int width, int height) {
  Mask mask(width, height, 1, 255);
  Random random(3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const bool inside = std::hypot(x - 0.5 * width, y - 0.5 * height) < 0.42 * height;
      if (kind == MaskKind::kCircle && !inside) mask(x, y) = 0;
      if (kind == MaskKind::kRagged && (random.Chance(0.1) || (x / 20 + y / 20) % 5 == 0)) mask(x, y) = 0;
    }
  }
  return mask;
}

RgbImage MakeImage(int width, int height) {
  Random random(4);
  RgbImage image(width, height, 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        image(x, y, c) = static_cast<uint8_t>(std::clamp(
            120 + 80 * std::sin(0.07 * x + c) * std::cos(0.09 * y) + random.Normal(0, 10), 0.0, 255.0));
      }
    }
  }
  return image;
}

// Trained networks have norms and biases that are not trivial: neither should these.
std::map<std::string, Tensor> MakeTensors(const NetworkSpec& spec) {
  std::map<std::string, Tensor> tensors = MakeRandomTensors(spec, 5);
  Random random(6);
  for (auto& [name, tensor] : tensors) {
    if (tensor.shape.size() == 4) continue;
    for (float& value : tensor.values) value += static_cast<float>(random.Normal(0, 0.1));
  }
  // A depth whose median means something: mostly on the positive side of the last norm.
  if (tensors.contains("depth.average.2.norm.bias")) {
    tensors.at("depth.average.2.norm.bias").values[0] = 3;
    tensors.at("depth.average.2.conv2.bias").values[0] = 0.5F;
  }
  return tensors;
}

double LargestDifference(const Image<float>& a, const Image<float>& b) {
  EXPECT_TRUE(SameSize(a, b) && a.Channels() == b.Channels());
  double largest = 0;
  for (size_t i = 0; i < a.Size(); ++i)
    largest = std::max(largest, static_cast<double>(std::abs(a.Data()[i] - b.Data()[i])));
  return largest;
}

double Median(const Image<float>& image) {
  std::vector<float> values;
  for (size_t i = 0; i < image.Size(); ++i) {
    if (image.Data()[i] != 0) values.push_back(image.Data()[i]);
  }
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

class EngineMasks : public testing::TestWithParam<MaskKind> {};
INSTANTIATE_TEST_SUITE_P(All, EngineMasks,
                         testing::Values(MaskKind::kFull, MaskKind::kCircle, MaskKind::kRagged));

TEST_P(EngineMasks, AgreesWithThePlainNetwork) {
  const Mask mask = MakeMask(GetParam(), 160, 128);
  const RgbImage image = MakeImage(160, 128);
  for (const NetworkSpec& spec : {MakeDepthSpec(), MakeFeatureSpec()}) {
    const auto tensors = MakeTensors(spec);
    const std::vector<Image<float>> plain = RunPlainNetwork(spec, tensors, mask, image);
    NetworkEngine engine(spec, tensors, mask);
    engine.RunTrunk(image);
    for (int head = 0; head < 2; ++head) {
      const bool depth = spec.heads[static_cast<size_t>(head)].activation == Activation::kAbs;
      const double bound = depth ? 1e-4 * Median(plain[static_cast<size_t>(head)]) : 2e-4;
      EXPECT_LT(LargestDifference(engine.RunHead(head), plain[static_cast<size_t>(head)]), bound)
          << spec.name << " " << head;
    }
  }
}

TEST(Engine, EveryKernelOfThisMachineAgreesWithThePlainOne) {
  Random random(1);
  for (const GemmKernel* kernel : AvailableGemmKernels()) {
    constexpr int kCount = 37;
    std::vector<float> weights(8 * kCount), rows(64 * kCount + 64);
    for (float& value : weights) value = static_cast<float>(random.Normal());
    for (float& value : rows) value = static_cast<float>(random.Normal());
    std::vector<int32_t> offsets;
    for (int k = 0; k < kCount; ++k)
      offsets.push_back(static_cast<int32_t>(random.UniformInt(0, 63 * kCount)));
    for (const bool strided : {false, true}) {
      std::vector<float> fast(8 * 16), plain(8 * 16);
      for (int j = 0; j < kernel->columns; j += 8) {
        if (strided)
          PlainGemmKernel().with_stride(weights.data(), rows.data() + j, 64, kCount, plain.data() + j, 16);
        else
          PlainGemmKernel().with_offsets(weights.data(), rows.data() + j, offsets.data(), kCount,
                                         plain.data() + j, 16);
      }
      if (strided)
        kernel->with_stride(weights.data(), rows.data(), 64, kCount, fast.data(), 16);
      else
        kernel->with_offsets(weights.data(), rows.data(), offsets.data(), kCount, fast.data(), 16);
      for (int o = 0; o < 8; ++o) {
        for (int j = 0; j < kernel->columns; ++j)
          EXPECT_NEAR(fast[16 * o + j], plain[16 * o + j], 1e-4) << kernel->name;
      }
    }
  }
}

TEST(Engine, ThreadsChangeNothing) {
  const NetworkSpec spec = MakeFeatureSpec();
  const auto tensors = MakeTensors(spec);
  const Mask mask = MakeMask(MaskKind::kCircle, 160, 128);
  const RgbImage image = MakeImage(160, 128);
  NetworkEngine one(spec, tensors, mask, {.threads = 1});
  NetworkEngine three(spec, tensors, mask, {.threads = 3});
  one.RunTrunk(image);
  three.RunTrunk(image);
  for (int head = 0; head < 2; ++head) EXPECT_EQ(one.RunHead(head), three.RunHead(head));
}

TEST(Engine, FramesDoNotInfluenceEachOther) {
  const NetworkSpec spec = MakeDepthSpec();
  const auto tensors = MakeTensors(spec);
  const Mask mask = MakeMask(MaskKind::kCircle, 160, 128);
  NetworkEngine engine(spec, tensors, mask);
  engine.RunTrunk(MakeImage(160, 128));
  const Image<float> first = engine.RunHead(0);
  engine.RunTrunk(RgbImage(160, 128, 3, 255));
  engine.RunHead(1);
  engine.RunHead(0);
  engine.RunTrunk(MakeImage(160, 128));
  EXPECT_EQ(engine.RunHead(0), first);
}

TEST(Engine, OtherSizesWork) {
  NetworkSpec spec = MakeFeatureSpec(8);
  spec.input_width = 96;
  spec.input_height = 64;
  const auto tensors = MakeTensors(spec);
  const Mask mask = MakeMask(MaskKind::kCircle, 96, 64);
  const RgbImage image = MakeImage(96, 64);
  NetworkEngine engine(spec, tensors, mask);
  engine.RunTrunk(image);
  EXPECT_LT(LargestDifference(engine.RunHead(1), RunPlainNetwork(spec, tensors, mask, image)[1]), 2e-4);
}

TEST(Engine, MaskWithoutAnyPixelAndImageOfAnotherSizeAreRefused) {
  const NetworkSpec spec = MakeFeatureSpec();
  const auto tensors = MakeRandomTensors(spec, 1);
  EXPECT_THROW(NetworkEngine(spec, tensors, Mask(160, 128)), InputError);
  NetworkEngine engine(spec, tensors, Mask(160, 128, 1, 255));
  EXPECT_THROW(engine.RunTrunk(RgbImage(80, 64, 3)), ContractError);
  EXPECT_THROW(engine.RunTrunk(RgbImage(0, 0, 3)), ContractError);
  EXPECT_THROW(engine.RunHead(0), ContractError) << "no trunk yet";
}

TEST(FastMath, TanhIsRightEverywhere) {
  for (double x = -20; x < 20; x += 1e-3)
    EXPECT_NEAR(FastTanh(static_cast<float>(x)), std::tanh(x), 3e-7) << x;
}

}  // namespace
}  // namespace lumen
