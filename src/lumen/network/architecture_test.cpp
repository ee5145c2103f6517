#include "lumen/network/architecture.h"

#include <gtest/gtest.h>

#include "lumen/base/error.h"
#include "lumen/network/mask_plan.h"
#include "lumen/network/plain_network.h"

namespace lumen {
namespace {

TEST(Architecture, ParameterCountsAreThePapers) {
  EXPECT_EQ(CountParameters(MakeDepthSpec(16, false)), 1'831'365);
  EXPECT_EQ(CountParameters(MakeFeatureSpec()), 1'491'640);
}

TEST(Architecture, BlocksFitTogether) {
  for (const NetworkSpec& spec : {MakeDepthSpec(), MakeFeatureSpec()}) {
    int channels = spec.input_channels;
    const std::vector<BlockSpec> blocks = ListBlocks(spec);
    int trunk_channels = 0;
    for (const BlockSpec& block : blocks) {
      if (block.starts_head) channels = trunk_channels;
      const int skip = block.role == BlockSpec::Role::kUp ? blocks[static_cast<size_t>(block.skip)].out : 0;
      EXPECT_EQ(block.in, channels + skip) << block.name;
      channels = block.out;
      if (block.role == BlockSpec::Role::kUp) trunk_channels = channels;
    }
    EXPECT_EQ(trunk_channels, 16);
  }
}

TEST(Architecture, SizesAreValues) {
  NetworkSpec spec = MakeFeatureSpec(8);
  spec.input_width = 320;
  spec.input_height = 256;
  EXPECT_EQ(spec.OutputWidth(), 160);
  EXPECT_EQ(spec.OutputChannels(1), 8);
  spec.input_width = 100;
  EXPECT_THROW(ListBlocks(spec), ContractError);
}

TEST(MaskPlan, EveryHeadStartsFromTheSameMask) {
  const NetworkSpec spec = MakeFeatureSpec();
  Mask mask(160, 128);
  for (int y = 30; y < 100; ++y) {
    for (int x = 40; x < 120; ++x) mask(x, y) = 255;
  }
  const std::vector<BlockSpec> blocks = ListBlocks(spec);
  const std::vector<BlockMasks> plan = PlanMasks(spec, mask);
  const Mask* start = nullptr;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (!blocks[i].starts_head) continue;
    if (start != nullptr) {
      EXPECT_EQ(plan[i].input, *start);
    }
    start = &plan[i].input;
  }
  EXPECT_EQ(*start, plan[1].input) << "the mask before the first stage at half size";
}

TEST(PartialConvolution, InvalidPixelsChangeNothing) {
  Tensor weight{{2, 1, 3, 3}, std::vector<float>(18)};
  for (size_t i = 0; i < 18; ++i) weight.values[i] = 0.1F * static_cast<float>(i) - 0.7F;
  const Tensor bias{{2}, {0.5F, -0.25F}};
  Mask mask(8, 6, 1, 255);
  mask(3, 2) = mask(4, 2) = mask(0, 5) = 0;
  Image<double> a(8, 6, 1, 0.3);
  Image<double> b = a;
  b(3, 2) = 1e9;
  b(0, 5) = -1e9;
  EXPECT_EQ(PlainPartialConv(a, mask, weight, bias), PlainPartialConv(b, mask, weight, bias));
}

TEST(PartialConvolution, BordersAreRenormalised) {
  // A constant image through a filter of equal weights is constant, at the border and beside the mask too.
  const Tensor weight{{1, 1, 3, 3}, std::vector<float>(9, 1.0F / 9)};
  const Tensor bias{{1}, {0.25F}};
  Mask mask(7, 7, 1, 255);
  for (int y = 0; y < 7; ++y) mask(6, y) = mask(5, y) = 0;
  const Image<double> out = PlainPartialConv(Image<double>(7, 7, 1, 2.0), mask, weight, bias);
  for (int y = 0; y < 7; ++y) {
    for (int x = 0; x < 6; ++x) EXPECT_NEAR(out(x, y), 2.25, 1e-6) << x << " " << y;
    EXPECT_EQ(out(6, y), 0.0) << "no valid tap";
  }
}

}  // namespace
}  // namespace lumen
