#include "lumen/geometry/robust_kernels.h"

#include <gtest/gtest.h>

namespace lumen {
namespace {

using Kernel = RobustValue (*)(double, double);

class RobustKernel : public testing::TestWithParam<Kernel> {};
INSTANTIATE_TEST_SUITE_P(All, RobustKernel, testing::Values(&Fair, &Cauchy, &Huber, &Truncated));

TEST_P(RobustKernel, WeightIsTheDerivativeOfRho) {
  for (const double delta : {0.3, 2.0}) {
    for (const double a : {0.01, 0.2, 1.0, 5.0, 40.0}) {
      const double h = 1e-6 * a;
      const double numeric = (GetParam()(a + h, delta).rho - GetParam()(a - h, delta).rho) / (2 * h);
      EXPECT_NEAR(GetParam()(a, delta).weight, numeric, 1e-6 * (1 + numeric));
    }
  }
}

TEST_P(RobustKernel, IsZeroAtZeroAndNeverFalls) {
  EXPECT_EQ(GetParam()(0, 1).rho, 0);
  double previous = 0;
  for (double a = 0; a < 20; a += 0.1) {
    const RobustValue value = GetParam()(a, 1.5);
    EXPECT_GE(value.rho, previous - 1e-12);
    EXPECT_GE(value.weight, 0);
    previous = value.rho;
  }
}

TEST(RobustKernel, ValuesByHand) {
  EXPECT_NEAR(Fair(4, 1).rho, 2 * (2 - std::log(3.0)), 1e-12);
  EXPECT_NEAR(Cauchy(3, 1).rho, std::log(4.0), 1e-12);
  EXPECT_NEAR(Huber(9, 1).rho, 5, 1e-12);
  EXPECT_EQ(Truncated(9, 1).rho, 1);
}

}  // namespace
}  // namespace lumen
