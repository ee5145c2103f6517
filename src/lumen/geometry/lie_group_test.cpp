// Group laws, once for every group.
#include <gtest/gtest.h>

#include "lumen/base/random.h"
#include "lumen/geometry/numeric_jacobian.h"
#include "lumen/geometry/rigid3.h"
#include "lumen/geometry/sim3.h"

namespace lumen {
namespace {

Eigen::Vector3d RandomVector(Random& random, double scale) {
  return scale * Eigen::Vector3d{random.Normal(), random.Normal(), random.Normal()};
}

TEST(SO3, LogInvertsExpFromTinyAnglesToPi) {
  Random random(1);
  for (const double angle :
       {0.0, 1e-12, 1e-8, 1e-5, 9e-5, 1.1e-4, 1e-2, 1.0, 3.0, M_PI - 1e-6, M_PI - 1e-10}) {
    const Eigen::Vector3d w = angle * RandomVector(random, 1).normalized();
    EXPECT_LT((LogSO3(ExpSO3(w)) - w).norm(), 1e-9 * (1 + angle)) << angle;
  }
}

TEST(SO3, LeftJacobianMatchesNumericOneAndItsInverse) {
  Random random(2);
  for (const double angle : {0.0, 1e-6, 5e-4, 2e-3, 0.3, 2.0, 3.1}) {
    const Eigen::Vector3d w = angle * RandomVector(random, 1).normalized();
    const auto f = [&](const Eigen::VectorXd& d) -> Eigen::VectorXd {
      return LogSO3(ExpSO3(w + Eigen::Vector3d(d)) * ExpSO3(w).conjugate());
    };
    const Eigen::Matrix3d analytic = LeftJacobianSO3(w);
    EXPECT_LT(RelativeError(analytic, NumericJacobian(f, Eigen::VectorXd::Zero(3))), 1e-7) << angle;
    EXPECT_LT((analytic * InverseLeftJacobianSO3(w) - Eigen::Matrix3d::Identity()).norm(), 1e-9) << angle;
  }
}

template <typename Group>
class LieGroupLaws : public testing::Test {
 protected:
  using Tangent = typename Group::Tangent;
  Random random_{3};
  Tangent RandomTangent(double scale = 0.8) {
    Tangent tangent;
    for (int i = 0; i < Group::kDimension; ++i) tangent[i] = random_.Normal(0, scale);
    return tangent;
  }
  Group RandomElement() { return Group::Exp(RandomTangent()); }
  static double Distance(const Group& a, const Group& b) { return (a.Matrix() - b.Matrix()).norm(); }
};

using Groups = testing::Types<Rigid3, Sim3>;
TYPED_TEST_SUITE(LieGroupLaws, Groups);

TYPED_TEST(LieGroupLaws, CompositionIsAssociativeWithIdentityAndInverse) {
  for (int i = 0; i < 50; ++i) {
    const TypeParam a = this->RandomElement();
    const TypeParam b = this->RandomElement();
    const TypeParam c = this->RandomElement();
    EXPECT_LT(this->Distance((a * b) * c, a * (b * c)), 1e-10);
    EXPECT_LT(this->Distance(a * TypeParam(), a), 1e-12);
    EXPECT_LT(this->Distance(a * a.Inverse(), TypeParam()), 1e-10);
  }
}

TYPED_TEST(LieGroupLaws, MatrixOfProductIsProductOfMatrices) {
  const TypeParam a = this->RandomElement();
  const TypeParam b = this->RandomElement();
  EXPECT_LT(((a * b).Matrix() - a.Matrix() * b.Matrix()).norm(), 1e-12);
  const Eigen::Vector3d x(1, 2, 3);
  EXPECT_LT((a * x - (a.Matrix() * x.homogeneous()).template head<3>()).norm(), 1e-12);
}

TYPED_TEST(LieGroupLaws, LogInvertsExpAtEveryMagnitude) {
  for (const double scale : {1e-12, 1e-9, 1e-6, 1e-4, 1e-2, 0.3, 0.8}) {
    for (int i = 0; i < 20; ++i) {
      const auto tangent = this->RandomTangent(scale);
      if (tangent.template segment<3>(3).norm() > 3.1) continue;
      EXPECT_LT((TypeParam::Exp(tangent).Log() - tangent).norm(), 1e-9 * (1 + tangent.norm())) << scale;
    }
  }
}

TYPED_TEST(LieGroupLaws, ExpOfMultiplesOfOneTangentCommute) {
  const auto tangent = this->RandomTangent(0.4);
  EXPECT_LT(
      this->Distance(TypeParam::Exp(0.3 * tangent) * TypeParam::Exp(0.7 * tangent), TypeParam::Exp(tangent)),
      1e-10);
}

TYPED_TEST(LieGroupLaws, AdjointMovesATangentAcross) {
  for (int i = 0; i < 50; ++i) {
    const TypeParam a = this->RandomElement();
    const auto tangent = this->RandomTangent(0.3);
    EXPECT_LT(this->Distance(a * TypeParam::Exp(tangent), TypeParam::Exp(a.Adjoint() * tangent) * a), 1e-9);
  }
}

TYPED_TEST(LieGroupLaws, LocalInvertsRetract) {
  for (int i = 0; i < 50; ++i) {
    const TypeParam a = this->RandomElement();
    const auto tangent = this->RandomTangent(0.5);
    EXPECT_LT((a.Local(a.Retract(tangent)) - tangent).norm(), 1e-9);
  }
}

TYPED_TEST(LieGroupLaws, LogIsGoodNearPi) {
  for (const double gap : {1e-3, 1e-6, 1e-9}) {
    auto tangent = this->RandomTangent(0.3);
    tangent.template segment<3>(3) = (M_PI - gap) * Eigen::Vector3d(0.6, -0.64, 0.48);
    EXPECT_LT((TypeParam::Exp(tangent).Log() - tangent).norm(), 1e-6) << gap;
  }
}

}  // namespace
}  // namespace lumen
