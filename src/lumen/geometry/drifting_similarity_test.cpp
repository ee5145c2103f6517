#include "lumen/geometry/drifting_similarity.h"

#include <gtest/gtest.h>

namespace lumen {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

const Sim3 kSimilarity(1.7, ExpSO3({0.3, -0.8, 0.4}), {3, -1, 2});
const Vector3d kCentre(0.5, 1, -2);
const Vector3d kDrift(0.05, -0.08, 0.11);
const Vector3d kPlace(2, -0.5, 0.7);

Matrix3d NumericJacobianOf(const DriftingSimilarity& map, const Vector3d& x) {
  constexpr double kStep = 1e-5;
  Matrix3d jacobian;
  for (int i = 0; i < 3; ++i)
    jacobian.col(i) =
        (map * (x + kStep * Vector3d::Unit(i)) - map * (x - kStep * Vector3d::Unit(i))) / (2 * kStep);
  return jacobian;
}

TEST(DriftingSimilarity, WithoutDriftIsTheSimilarity) {
  const DriftingSimilarity map(kSimilarity);
  EXPECT_TRUE((map * kPlace).isApprox(kSimilarity * kPlace, 1e-12));
  EXPECT_TRUE(map.RotationAt(kPlace).isApprox(kSimilarity.Rotation().toRotationMatrix(), 1e-12));
  EXPECT_NEAR(map.ScaleAt(kPlace), 1.7, 1e-12);
}

TEST(DriftingSimilarity, IsASimilarityInTheSmall) {
  const DriftingSimilarity map(kSimilarity, kCentre, kDrift);
  const Matrix3d expected = map.ScaleAt(kPlace) * map.RotationAt(kPlace);
  EXPECT_TRUE(NumericJacobianOf(map, kPlace).isApprox(expected, 1e-7));
  EXPECT_TRUE((map * kCentre).isApprox(kSimilarity * kCentre, 1e-12));
  EXPECT_TRUE(map.RotationAt(kCentre).isApprox(kSimilarity.Rotation().toRotationMatrix(), 1e-12));
}

TEST(DriftingSimilarity, TheSimilarityAtAPlaceIsTheMapNearIt) {
  const DriftingSimilarity map(kSimilarity, kCentre, kDrift);
  const Sim3 there = map.At(kPlace);
  EXPECT_TRUE((there * kPlace).isApprox(map * kPlace, 1e-12));
  const Vector3d step = 1e-5 * Vector3d(1, -2, 3);
  EXPECT_LT((there * (kPlace + step) - map * (kPlace + step)).norm(), 1e-8);
}

TEST(DriftingSimilarity, TheScaleGrowsAlongTheDrift) {
  const DriftingSimilarity map(kSimilarity, kCentre, kDrift);
  constexpr double kStep = 1e-4;
  for (int i = 0; i < 3; ++i)
    EXPECT_NEAR(std::log(map.ScaleAt(kCentre + kStep * Vector3d::Unit(i)) / 1.7) / kStep, kDrift[i], 1e-4);
}

TEST(DriftingSimilarity, DerivativesByTheDriftAgreeWithDifferences) {
  const DriftingSimilarity map(kSimilarity, kCentre, kDrift);
  constexpr double kStep = 1e-6;
  for (int i = 0; i < 3; ++i) {
    const DriftingSimilarity more(kSimilarity, kCentre, kDrift + kStep * Vector3d::Unit(i));
    const DriftingSimilarity less(kSimilarity, kCentre, kDrift - kStep * Vector3d::Unit(i));
    EXPECT_LT(
        ((more * kPlace - less * kPlace) / (2 * kStep) - map.PointByDrift(kPlace, kPlace).col(i)).norm(),
        1e-6);
    const Vector3d seen = kPlace + Vector3d(0.3, 1.2, -0.4);
    const Vector3d moved = (more.At(kPlace) * seen - less.At(kPlace) * seen) / (2 * kStep);
    EXPECT_LT((moved - map.PointByDrift(seen, kPlace).col(i)).norm(), 1e-6);
    const Vector3d turn =
        LogSO3(Eigen::Quaterniond(Matrix3d(more.RotationAt(kPlace) * less.RotationAt(kPlace).transpose())));
    EXPECT_LT((turn / (2 * kStep) - map.TurnByDrift(kPlace).col(i)).norm(), 1e-6);
  }
}

TEST(DriftingSimilarity, MovesACameraWithItsSurroundings) {
  const DriftingSimilarity map(kSimilarity, kCentre, kDrift);
  const Rigid3 camera(ExpSO3({0.2, 0.1, -0.5}), kPlace);
  const Rigid3 moved = map.At(kPlace).TransformPose(camera);
  // What lies a little before the camera still lies there.
  const Vector3d ahead = map * (camera * Vector3d(0, 0, 1e-4));
  const Vector3d direction = (moved.Inverse() * ahead).normalized();
  EXPECT_NEAR(direction.z(), 1, 1e-6);
}

}  // namespace
}  // namespace lumen
