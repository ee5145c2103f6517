#include "lumen/geometry/registration.h"

#include <gtest/gtest.h>

#include "lumen/geometry/clique.h"
#include "lumen/geometry/registration_problem.h"

namespace lumen {
namespace {

int CountRight(double outlier_share, const RegistrationOptions& options) {
  int right = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const RegistrationProblem problem = MakeRegistrationProblem(256, outlier_share, seed);
    right += IsRight(problem, EstimateRegistration(problem.a, problem.b, problem.bounds, options)) ? 1 : 0;
  }
  return right;
}

TEST(Registration, HalfOutliersWithThePapersSettings) { EXPECT_GE(CountRight(0.5, {}), 99); }

TEST(Registration, CliqueSelectionSurvivesEightyPercentOutliers) {
  EXPECT_GE(CountRight(0.8, RegistrationOptions::ForManyOutliers()), 99);
}

TEST(Registration, KnownScaleStaysOne) {
  RegistrationProblem problem = MakeRegistrationProblem(100, 0.3, 1);
  for (auto& y : problem.b) y /= problem.b_from_a.Scale();
  for (auto& bound : problem.bounds) bound /= problem.b_from_a.Scale();
  const auto result = EstimateRegistration(problem.a, problem.b, problem.bounds, {.estimate_scale = false});
  ASSERT_EQ(result.status, RegistrationStatus::kOk);
  EXPECT_EQ(result.b_from_a.Scale(), 1.0);
  EXPECT_LT(RotationAngle(result.b_from_a.Rotation(), problem.b_from_a.Rotation()), 0.01);
}

TEST(Registration, InliersAreTheTrueOnes) {
  const RegistrationProblem problem = MakeRegistrationProblem(256, 0.4, 3);
  const auto result = EstimateRegistration(problem.a, problem.b, problem.bounds);
  ASSERT_EQ(result.status, RegistrationStatus::kOk);
  const int first_true = static_cast<int>(0.4 * 256) + 1;
  int wrong = 0;
  for (const int i : result.inliers) wrong += i < first_true - 1;
  EXPECT_LE(wrong, 3);  // a random match may happen to land within the bound
  EXPECT_GE(result.inliers.size(), 140U);
}

TEST(Registration, EveryStatusIsReached) {
  EXPECT_EQ(EstimateRegistration({}, {}, {}).status, RegistrationStatus::kTooFewPoints);
  const std::vector<Eigen::Vector3d> same(10, Eigen::Vector3d(1, 2, 3));
  EXPECT_EQ(EstimateRegistration(same, same, std::vector<double>(10, 0.1)).status,
            RegistrationStatus::kDegenerate);
  RegistrationProblem noise = MakeRegistrationProblem(40, 1.0, 5);
  for (double& bound : noise.bounds) bound *= 1e-3;
  EXPECT_EQ(EstimateRegistration(noise.a, noise.b, noise.bounds).status, RegistrationStatus::kTooFewInliers);
  const RegistrationProblem good = MakeRegistrationProblem(40, 0, 5);
  EXPECT_EQ(EstimateRegistration(good.a, good.b, good.bounds).status, RegistrationStatus::kOk);
}

TEST(Clique, PlantedCliqueIsFound) {
  Random random(4);
  ConsistencyGraph graph(200);
  for (int i = 0; i < 200; ++i) {
    for (int j = i + 1; j < 200; ++j) {
      const bool planted = i % 8 == 0 && j % 8 == 0;
      if (planted || random.Chance(0.15)) graph.Connect(i, j);
    }
  }
  const std::vector<int> clique = FindLargeClique(graph);
  EXPECT_GE(clique.size(), 25U);
  for (const int i : clique) {
    for (const int j : clique) EXPECT_TRUE(i == j || graph.Connected(i, j));
  }
}

}  // namespace
}  // namespace lumen
