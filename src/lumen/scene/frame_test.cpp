#include "lumen/scene/frame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace lumen {
namespace {

TEST(DepthBasis, DepthIsScaleTimesAveragePlusCodedBases) {
  Image<float> average(3, 2, 1, 2.0F);
  Image<float> bases(3, 2, 2, 0.0F);
  bases(1, 1, 0) = 0.5F;
  bases(1, 1, 1) = -1.0F;
  Mask mask(3, 2, 1, 255);
  mask(0, 0) = 0;
  average(0, 0) = 100;  // outside the mask: must not count
  const DepthBasis basis = MakeDepthBasis(average, bases, mask);
  EXPECT_FLOAT_EQ(basis.mean_square, 4.0F);
  const Eigen::Vector2d code(0.4, 0.3);
  const DepthImage depth = ComputeDepth(basis, std::log(3.0), code);
  EXPECT_FLOAT_EQ(depth(2, 0), 6.0F);
  EXPECT_FLOAT_EQ(depth(1, 1), 3 * (2 + 0.4F * 0.5F - 0.3F));
}

TEST(DepthBasis, CodeOfAnotherLengthBreaksTheContract) {
  const DepthBasis basis = MakeDepthBasis(Image<float>(2, 2), Image<float>(2, 2, 4), Mask(2, 2));
  EXPECT_THROW(ComputeDepth(basis, 0, Eigen::VectorXd::Zero(3)), ContractError);
}

TEST(FeaturePyramid, PackedAndUnpackedItIsTheSameBitForBit) {
  Image<float> features(16, 16, 5);
  Image<float> descriptors(16, 16, 3);
  for (size_t i = 0; i < features.Size(); ++i) features.Data()[i] = std::sin(0.37F * static_cast<float>(i));
  for (size_t i = 0; i < descriptors.Size(); ++i)
    descriptors.Data()[i] = std::cos(0.11F * static_cast<float>(i));
  Mask mask(16, 16, 1, 255);
  for (int x = 0; x < 16; ++x) mask(x, 0) = mask(3, x) = 0;
  const FeaturePyramid whole = MakeFeaturePyramid(features, descriptors, mask, 3);
  const FeaturePyramid packed = PackFeatures(whole);
  EXPECT_TRUE(packed.IsPacked());
  EXPECT_EQ(packed.NumLevels(), 3);
  ASSERT_EQ(packed.levels.size(), 1U);
  EXPECT_EQ(packed.levels[0].FeatureChannels(), 5);
  EXPECT_EQ(packed.levels[0].values.Channels(), 5);
  const FeaturePyramid back = UnpackFeatures(packed, mask, 3);
  ASSERT_EQ(back.levels.size(), 3U);
  for (size_t l = 0; l < 3; ++l) {
    const Image<float>& a = whole.levels[l].values;
    const Image<float>& b = back.levels[l].values;
    ASSERT_EQ(a.Size(), b.Size());
    EXPECT_TRUE(std::equal(a.Data(), a.Data() + a.Size(), b.Data())) << l;
  }
  EXPECT_THROW(UnpackFeatures(packed, mask, 4), ContractError);
  EXPECT_THROW(UnpackFeatures(whole, mask, 1), ContractError);
}

TEST(View, DepthAlongZAndInTheViewsMeasureAreTheSamePoints) {
  const UnifiedCamera camera{20, 20, 19.5, 15.5, 0.6};
  DepthImage z(40, 32, 1, 2.0F);
  z(5, 6) = 0;
  const DepthImage depth = ViewDepthOfZ(z, camera);
  EXPECT_EQ(depth(5, 6), 0);
  for (int y = 0; y < 32; y += 4) {
    for (int x = 0; x < 40; x += 4)
      EXPECT_NEAR(static_cast<double>(depth(x, y)) * camera.RayAtUnitDepth(x, y).z(), 2, 1e-6);
  }
  const DepthImage back = ZOfViewDepth(depth, camera);
  for (size_t i = 0; i < z.Size(); ++i) EXPECT_NEAR(back.Data()[i], z.Data()[i], 1e-6);
  EXPECT_EQ(ViewDepthOfZ(z, PinholeCamera{20, 20, 19.5, 15.5}), z);
}

TEST(View, HasHalfTheCameraAndOnlyWholeContent) {
  Mask mask(32, 24, 1, 255);
  mask(5, 5) = 0;
  const auto view = MakeView(Camera::FromFieldOfView(77, 32, 24), mask, 2);
  EXPECT_EQ(view->mask.Width(), 16);
  EXPECT_EQ(view->mask(2, 2), 0);
  EXPECT_EQ(view->mask(3, 2), 255);
  EXPECT_DOUBLE_EQ(view->camera.cx, 7.5);
  EXPECT_EQ(view->eroded_mask(1, 8), 0);
  EXPECT_EQ(view->eroded_mask(2, 8), 255);
}

}  // namespace
}  // namespace lumen
