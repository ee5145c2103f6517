#include "lumen/network/engine.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lumen/network/fast_math.h"
#include "lumen/network/network_test_data.h"
#include "lumen/network/plain_network.h"

namespace lumen {
namespace {

class EngineMasks : public testing::TestWithParam<MaskKind> {};
INSTANTIATE_TEST_SUITE_P(All, EngineMasks,
                         testing::Values(MaskKind::kFull, MaskKind::kCircle, MaskKind::kRagged));

// The plain one is slow: at the size that the networks have with one mask, smaller with the others.
TEST_P(EngineMasks, AgreesWithThePlainNetwork) {
  for (NetworkSpec spec : {MakeDepthSpec(), MakeFeatureSpec()}) {
    if (GetParam() != MaskKind::kCircle) {
      spec.input_width = 96;
      spec.input_height = 64;
    }
    const Mask mask = MakeMask(GetParam(), spec.input_width, spec.input_height);
    const RgbImage image = MakeImage(spec.input_width, spec.input_height);
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

// Most rows have nothing to compute, and the first head leaves its values in the buffers of the second.
TEST(Engine, SmallMaskInACornerAgreesWithThePlainNetwork) {
  const NetworkSpec spec = MakeFeatureSpec();
  const auto tensors = MakeTensors(spec);
  Mask mask(160, 128);
  for (int y = 90; y < 121; ++y) {
    for (int x = 131; x < 140 + y % 7; ++x) mask(x, y) = 255;
  }
  const RgbImage image = MakeImage(160, 128);
  const std::vector<Image<float>> plain = RunPlainNetwork(spec, tensors, mask, image);
  NetworkEngine engine(spec, tensors, mask);
  engine.RunTrunk(image);
  for (int head = 0; head < 2; ++head)
    EXPECT_LT(LargestDifference(engine.RunHead(head), plain[static_cast<size_t>(head)]), 2e-4);
}

// Half precision, as this processor does it and rounded by hand. Random weights make some channels that
// hardly vary, whose norm then magnifies what was rounded: a few numbers may be far off, all together may
// not.
std::vector<const Arithmetic<Half>*> HalfArithmetics() {
  std::vector<const Arithmetic<Half>*> all = {&PlainHalfArithmetic()};
  if (HalfArithmetic() != nullptr) all.push_back(HalfArithmetic());
  return all;
}

struct Differences {
  double rms = 0, share_far = 0;  // far: by more than a twentieth
};
Differences Compare(const Image<float>& a, const Image<float>& b, double unit) {
  Differences result;
  for (size_t i = 0; i < a.Size(); ++i) {
    const double difference = (static_cast<double>(a.Data()[i]) - static_cast<double>(b.Data()[i])) / unit;
    result.rms += difference * difference;
    if (std::abs(difference) > 0.05) result.share_far += 1;
  }
  return {std::sqrt(result.rms / static_cast<double>(a.Size())),
          result.share_far / static_cast<double>(a.Size())};
}

TEST_P(EngineMasks, HalfPrecisionStaysNearThePlainNetwork) {
  for (NetworkSpec spec : {MakeDepthSpec(), MakeFeatureSpec()}) {
    spec.input_width = spec.input_height = 64;
    const Mask mask = MakeMask(GetParam(), spec.input_width, spec.input_height);
    const RgbImage image = MakeImage(spec.input_width, spec.input_height);
    const auto tensors = MakeTensors(spec);
    const std::vector<Image<float>> plain = RunPlainNetwork(spec, tensors, mask, image);
    for (const Arithmetic<Half>* half : HalfArithmetics()) {
      if (half == &PlainHalfArithmetic() && GetParam() != MaskKind::kCircle) continue;  // it is slow
      NetworkEngine engine(spec, tensors, mask, {.half = half});
      engine.RunTrunk(image);
      for (size_t head = 0; head < 2; ++head) {
        const bool depth = spec.heads[head].activation == Activation::kAbs;
        const Differences off =
            Compare(engine.RunHead(static_cast<int>(head)), plain[head], depth ? Median(plain[head]) : 1);
        EXPECT_TRUE(engine.IsFinite());
        EXPECT_LT(off.rms, 0.02) << half->name << " " << spec.name << " " << head;
        EXPECT_LT(off.share_far, 0.01) << half->name << " " << spec.name << " " << head;
      }
    }
  }
}

TEST(Engine, NumbersBeyondHalfPrecisionAreReported) {
  NetworkSpec spec = MakeFeatureSpec();
  spec.input_width = spec.input_height = 32;
  auto tensors = MakeTensors(spec);
  for (float& value : tensors.at("feature.descriptor.2.conv2.weight").values) value *= 1e6F;
  for (const Arithmetic<Half>* half : HalfArithmetics()) {
    NetworkEngine engine(spec, tensors, Mask(32, 32, 1, 255), {.half = half});
    engine.RunTrunk(MakeImage(32, 32));
    engine.RunHead(0);
    EXPECT_TRUE(engine.IsFinite());
    engine.RunHead(1);
    EXPECT_FALSE(engine.IsFinite());
  }
}

TEST(Engine, ThreadsChangeNothing) {
  const Mask mask = MakeMask(MaskKind::kCircle, 160, 128);
  const RgbImage image = MakeImage(160, 128);
  const NetworkSpec specs[] = {MakeDepthSpec(), MakeFeatureSpec()};
  for (int which = 0; which < 4; ++which) {
    const NetworkSpec& spec = specs[which % 2];
    const Arithmetic<Half>* half = which < 2 ? nullptr : HalfArithmetic();
    const auto tensors = MakeTensors(spec);
    NetworkEngine one(spec, tensors, mask, {.threads = 1, .half = half});
    one.RunTrunk(image);
    const Image<float> heads[2] = {one.RunHead(0), one.RunHead(1)};
    for (const int threads : {2, 3, 11}) {  // by blocks of rows, by channels where there are few
      NetworkEngine more(spec, tensors, mask, {.threads = threads, .half = half});
      more.RunTrunk(image);
      for (int head = 0; head < 2; ++head) EXPECT_EQ(more.RunHead(head), heads[head]) << threads;
    }
  }
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
