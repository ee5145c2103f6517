#include "lumen/geometry/alignment.h"

#include <gtest/gtest.h>

#include "lumen/base/random.h"

namespace lumen {
namespace {

std::vector<Eigen::Vector3d> RandomPoints(int count, uint64_t seed) {
  Random random(seed);
  std::vector<Eigen::Vector3d> points;
  for (int i = 0; i < count; ++i) points.push_back({random.Normal(), random.Normal(), random.Normal()});
  return points;
}

std::vector<Eigen::Vector3d> Transformed(const Sim3& b_from_a, const std::vector<Eigen::Vector3d>& a) {
  std::vector<Eigen::Vector3d> b;
  for (const Eigen::Vector3d& x : a) b.push_back(b_from_a * x);
  return b;
}

Sim3 RandomSim3(uint64_t seed) {
  Random random(seed);
  Vector7d tangent;
  for (int i = 0; i < 7; ++i) tangent[i] = random.Normal();
  return Sim3::Exp(tangent);
}

TEST(Alignment, RecoversAnExactSimilarity) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Sim3 truth = RandomSim3(seed);
    const auto a = RandomPoints(3 + static_cast<int>(seed), seed + 100);
    const auto estimate = EstimateAlignment(a, Transformed(truth, a));
    ASSERT_TRUE(estimate);
    EXPECT_LT((estimate->Matrix() - truth.Matrix()).norm(), 1e-9);
  }
}

TEST(Alignment, RigidVariantKeepsScaleOne) {
  const auto a = RandomPoints(10, 3);
  const Sim3 rigid(1.0, RandomSim3(4).Rotation(), {1, 2, 3});
  const auto estimate = EstimateAlignment(a, Transformed(rigid, a), {.estimate_scale = false});
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->Scale(), 1.0);
  EXPECT_LT((estimate->Matrix() - rigid.Matrix()).norm(), 1e-9);
}

TEST(Alignment, MirroredPlanarPointsStillGiveARotation) {
  auto a = RandomPoints(10, 5);
  for (auto& x : a) x.z() = 0;
  auto b = a;
  for (auto& x : b) x.x() = -x.x();
  const auto estimate = EstimateAlignment(a, b);
  ASSERT_TRUE(estimate);
  EXPECT_NEAR(estimate->Rotation().toRotationMatrix().determinant(), 1, 1e-12);
  EXPECT_LT((*estimate * a[3] - b[3]).norm(), 1e-9);
}

TEST(Alignment, ZeroWeightPointsDoNotCount) {
  const Sim3 truth = RandomSim3(6);
  const auto a = RandomPoints(10, 7);
  auto b = Transformed(truth, a);
  b[2] += Eigen::Vector3d(100, 0, 0);
  std::vector<double> weights(10, 1.0);
  weights[2] = 0;
  EXPECT_LT((EstimateAlignment(a, b, {}, weights)->Matrix() - truth.Matrix()).norm(), 1e-9);
}

TEST(Alignment, UndeterminedSetsGiveNothing) {
  EXPECT_FALSE(EstimateAlignment({}, {}));
  EXPECT_FALSE(EstimateAlignment(RandomPoints(2, 1), RandomPoints(2, 2)));
  const std::vector<Eigen::Vector3d> same(5, Eigen::Vector3d(1, 2, 3));
  EXPECT_FALSE(EstimateAlignment(same, same));
  std::vector<Eigen::Vector3d> line;
  for (int i = 0; i < 5; ++i) line.emplace_back(i, 2 * i, -i);
  EXPECT_FALSE(EstimateAlignment(line, line));
}

}  // namespace
}  // namespace lumen
