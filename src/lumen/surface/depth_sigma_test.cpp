#include "lumen/surface/depth_sigma.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lumen/surface/surface_world_test.h"
#include "lumen/surface/tsdf_volume.h"

namespace lumen {
namespace {

constexpr int kSize = 96;

Image<float> Even(float value) {
  Image<float> image(kSize, kSize);
  std::fill(image.Data(), image.Data() + image.Size(), value);
  return image;
}

float SigmaInTheMiddle(const DepthImage& depth, float views, float finer, float spread) {
  return EstimateDepthSigma(depth, {Even(views), Even(finer), Even(spread)})(kSize / 2, kSize / 2);
}

TEST(DepthSigma, FallsWithTheViewsAndRisesWithTheirDisagreement) {
  const DepthImage depth = Even(2);
  const float usual = SigmaInTheMiddle(depth, 10, 1, 0.03F);
  EXPECT_GT(usual, 0.005F);
  EXPECT_LT(usual, 0.2F);
  EXPECT_LT(SigmaInTheMiddle(depth, 40, 1, 0.03F), usual);
  EXPECT_GT(SigmaInTheMiddle(depth, 1, 1, 0.03F), 2 * usual);
  EXPECT_GT(SigmaInTheMiddle(depth, 10, 1, 0.2F), 1.5F * usual);
  EXPECT_LT(SigmaInTheMiddle(depth, 10, 2, 0.03F), usual) << "who saw it more finely";
}

TEST(DepthSigma, RisesAtEdgesAndFarAwayAndIsUnknownWhereDepthIs) {
  DepthImage depth = Even(2);
  for (int y = 0; y < kSize; ++y)
    for (int x = 70; x < kSize; ++x) depth(x, y) = 6;
  depth(10, 10) = 0;
  const Image<float> sigma = EstimateDepthSigma(depth, {Even(10), Even(1), Even(0.03F)});
  EXPECT_GT(sigma(69, 50), 1.2F * sigma(40, 50)) << "before the edge";
  EXPECT_GT(sigma(85, 50), 1.2F * sigma(40, 50)) << "behind it";
  EXPECT_EQ(sigma(10, 10), 0);
  EXPECT_GT(sigma(11, 10), sigma(40, 50)) << "beside what is not known";
}

// The wall is as unsure as those who saw it, across it; and says nothing where one of them says nothing.
TEST(DepthSigma, IsCarriedIntoTheSurface) {
  const UnifiedCamera camera(80, 80, kSize / 2, kSize / 2, 0);
  DepthView view{camera, Rigid3(), Even(2), {}, Even(0.05F)};
  TsdfVolume sure(0.05, 0.3), unsure(0.05, 0.3);
  sure.Integrate(view, {}, 1);
  unsure.Integrate(view, {}, 1);
  view.sigma = {};
  unsure.Integrate(view, {}, 1);
  const TriangleMesh mesh = sure.ExtractMesh(0.1, 2);
  ASSERT_EQ(mesh.attributes.back().name, kSigma);
  ASSERT_FALSE(mesh.vertices.empty());
  for (const float sigma : mesh.attributes.back().values) EXPECT_NEAR(sigma, 0.87 * 0.1, 1e-4);
  EXPECT_NE(unsure.ExtractMesh(0.1, 2).attributes.back().name, kSigma);
}

}  // namespace
}  // namespace lumen
