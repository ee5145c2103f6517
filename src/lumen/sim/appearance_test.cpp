#include "lumen/sim/appearance.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lumen/image/mask.h"
#include "lumen/sim/tissue.h"

namespace lumen {
namespace {

TEST(Appearance, FollowsSeedKindAndWildness) {
  const Appearance a = MakeAppearance(AnatomyKind::kNasal, 1);
  EXPECT_EQ(a.tissue.blood, MakeAppearance(AnatomyKind::kNasal, 1).tissue.blood);
  EXPECT_NE(a.tissue.blood, MakeAppearance(AnatomyKind::kNasal, 2).tissue.blood);
  EXPECT_NE(a.tissue.blood, MakeAppearance(AnatomyKind::kColon, 1).tissue.blood);
  EXPECT_FALSE((a.tissue.pale == MakeAppearance(AnatomyKind::kNasal, 1, 1.0F).tissue.pale).all());
}

TEST(Appearance, TissueIsRedUnlessWild) {
  int wild_not_red = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    for (const float wildness : {0.0F, 1.0F}) {
      const TissueOptions tissue = MakeAppearance(AnatomyKind::kStomach, seed, wildness).tissue;
      const Color color = tissue.pale * (-tissue.blood * tissue.absorption).exp();
      const bool red = color[0] > color[1] && color[0] > color[2];
      if (wildness == 0) {
        EXPECT_TRUE(red) << seed;
      }
      if (wildness == 1 && !red) ++wild_not_red;
    }
  }
  EXPECT_GT(wild_not_red, 15);
}

TEST(Appearance, LightReachesTheEdgeOfAWideLensAndIsLeftAloneForANarrowOne) {
  const Appearance drawn = MakeAppearance(AnatomyKind::kColon, 5);
  Appearance narrow = drawn, wide = drawn;
  FitLightToLens(Camera::FromFieldOfView(77, 160, 128), narrow);
  EXPECT_EQ(narrow.light.cone_exponent, drawn.light.cone_exponent);
  FitLightToLens(Camera(UnifiedCamera{60, 60, 79.5, 63.5, 0.62}, 160, 128), wide);
  EXPECT_LT(wide.light.cone_exponent, drawn.light.cone_exponent);
  EXPECT_GT(wide.light.cone_exponent, 0);
}

TEST(ContentMask, IsADiscCutAboveAndBelow) {
  MaskOptions options;
  options.radius = 0.9F;
  options.cut_top = 0.5F;
  options.cut_bottom = 2;
  const Mask mask = MakeContentMask(options, 160, 128);
  EXPECT_EQ(mask(80, 64), 255);
  EXPECT_EQ(mask(80, 25), 0) << "cut off above";
  EXPECT_EQ(mask(80, 115), 255);
  EXPECT_EQ(mask(1, 1), 0);
  options.round = false;
  EXPECT_EQ(CountMask(MakeContentMask(options, 160, 128)), 160 * 128);
}

TEST(Tissue, StaysBetweenBlackAndWhiteAndVaries) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const Tissue tissue(MakeAppearance(AnatomyKind::kNasal, seed).tissue, seed);
    float low = 1;
    float high = 0;
    for (int i = 0; i < 4000; ++i) {
      WallPoint point;
      point.position = {0.31F * static_cast<float>(i % 63), 0.29F * static_cast<float>(i / 63), 5};
      point.normal = Eigen::Vector3f::UnitZ();
      point.footprint = 0.05F;
      const TissueSample sample = tissue.Evaluate(point);
      ASSERT_GE(sample.albedo.minCoeff(), 0);
      ASSERT_LE(sample.albedo.maxCoeff(), 1);
      ASSERT_NEAR(sample.normal.norm(), 1, 1e-4);
      low = std::min(low, sample.albedo[1]);
      high = std::max(high, sample.albedo[1]);
    }
    EXPECT_GT(high, 1.2F * low) << seed;
  }
}

TEST(Tissue, DetailBelowThePixelFadesOut) {
  TissueOptions options;
  options.vessel_cover = 0;
  options.tint = 0;
  const Tissue tissue(options, 3);
  const auto spread = [&](float footprint) {
    float low = 1;
    float high = 0;
    for (int i = 0; i < 400; ++i) {
      WallPoint point;
      point.position = {0.05F * static_cast<float>(i), 1, 2};
      point.normal = Eigen::Vector3f::UnitZ();
      point.footprint = footprint;
      const float green = tissue.Evaluate(point).albedo[1];
      low = std::min(low, green);
      high = std::max(high, green);
    }
    return high - low;
  };
  EXPECT_LT(spread(5), 0.6F * spread(0.02F));
}

}  // namespace
}  // namespace lumen
