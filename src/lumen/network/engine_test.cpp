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

TEST(Engine, ThreadsChangeNothing) {
  const Mask mask = MakeMask(MaskKind::kCircle, 160, 128);
  const RgbImage image = MakeImage(160, 128);
  for (const NetworkSpec& spec : {MakeDepthSpec(), MakeFeatureSpec()}) {
    const auto tensors = MakeTensors(spec);
    NetworkEngine one(spec, tensors, mask, {.threads = 1});
    one.RunTrunk(image);
    const Image<float> heads[2] = {one.RunHead(0), one.RunHead(1)};
    for (const int threads : {2, 3, 11}) {  // by blocks of rows, by channels where there are few
      NetworkEngine more(spec, tensors, mask, {.threads = threads});
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
