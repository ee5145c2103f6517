#include "lumen/graph/levenberg_marquardt.h"

#include <gtest/gtest.h>

#include <limits>

#include "lumen/base/error.h"
#include "lumen/graph/normal_system.h"
#include "lumen/graph/sample_factors_test.h"

namespace lumen {
namespace {

// A few numbers of one code, by a function and its Jacobian.
class CodeFunctionFactor : public ResidualFactor {
 public:
  using Function = std::function<Eigen::VectorXd(const Eigen::VectorXd&, Eigen::MatrixXd*)>;
  explicit CodeFunctionFactor(Function function)
      : ResidualFactor({CodeKey(0)}), function_(std::move(function)) {}

 protected:
  Eigen::VectorXd Residual(const Values& values, Eigen::MatrixXd* jacobian) const override {
    return function_(values.Code(CodeKey(0)), jacobian);
  }

 private:
  Function function_;
};

Values CodeAt(double x, double y) {
  Values values;
  values.Insert(CodeKey(0), Eigen::VectorXd(Eigen::Vector2d(x, y)));
  return values;
}

FactorPtr Rosenbrock() {
  return std::make_shared<CodeFunctionFactor>([](const Eigen::VectorXd& x, Eigen::MatrixXd* jacobian) {
    if (jacobian != nullptr) *jacobian = (Eigen::Matrix2d() << -1, 0, -20 * x[0], 10).finished();
    return Eigen::VectorXd(Eigen::Vector2d(1 - x[0], 10 * (x[1] - x[0] * x[0])));
  });
}

LevenbergMarquardtOptions Tight() {
  LevenbergMarquardtOptions options;
  options.max_iterations = 200;
  options.max_damping = 1e8;
  options.min_damping = 1e-12;
  options.damping_increase = 10;
  options.reuse_error_change = 0;
  options.gradient_tolerance = 1e-11;
  options.step_ratio_tolerance = 1e-12;
  return options;
}

// A loop of poses with exact measurements.
struct Loop {
  FactorGraph factors;
  Values truth;
};

Loop MakeLoop(int count, Random& random) {
  Loop loop;
  Rigid3 pose;
  for (int i = 0; i < count; ++i) {
    loop.truth.Insert(PoseKey(i), pose);
    pose = pose * Rigid3::Exp(RandomTangent(random, 0.2));
  }
  loop.factors.push_back(std::make_shared<AnchorFactor>(PoseKey(0), Rigid3(), 10));
  for (int i = 0; i < count; ++i) {
    const int next = (i + 1) % count;
    const Rigid3 next_from_this = loop.truth.Pose(PoseKey(next)).Inverse() * loop.truth.Pose(PoseKey(i));
    loop.factors.push_back(std::make_shared<BetweenFactor>(PoseKey(i), PoseKey(next), next_from_this));
  }
  return loop;
}

Values Perturb(const Values& values, double scale, Random& random) {
  Values moved = values;
  for (const Key& key : values.Keys()) {
    moved.Set(key, Retract(values.At(key), RandomVector(random, Dimension(values.At(key)), scale)));
  }
  return moved;
}

TEST(LevenbergMarquardt, FindsRosenbrocksMinimum) {
  Values values = CodeAt(-1.2, 1);
  const auto summary = MinimizeLevenbergMarquardt({Rosenbrock()}, Tight(), values);
  EXPECT_TRUE(summary.Converged()) << ToString(summary.reason);
  EXPECT_LT((values.Code(CodeKey(0)) - Eigen::Vector2d(1, 1)).norm(), 1e-9);
  EXPECT_LT(summary.final_error, 1e-18);
  EXPECT_NEAR(summary.initial_error, 0.5 * (2.2 * 2.2 + 100 * 0.44 * 0.44), 1e-9);
}

TEST(LevenbergMarquardt, DenseAndSparseSystemsRecoverLoopsOfPoses) {
  Random random(1);
  for (const int count : {8, 60}) {  // 48 unknowns: dense; 360: sparse
    const Loop loop = MakeLoop(count, random);
    Values values = Perturb(loop.truth, 0.05, random);
    const auto summary = MinimizeLevenbergMarquardt(loop.factors, Tight(), values);
    EXPECT_TRUE(summary.Converged()) << ToString(summary.reason);
    for (const Key& key : values.Keys()) {
      EXPECT_LT(Local(values.At(key), loop.truth.At(key)).norm(), 1e-9) << count;
    }
  }
}

TEST(LevenbergMarquardt, SparseStepEqualsDenseStep) {
  Random random(2);
  const Loop loop = MakeLoop(40, random);
  const Values values = Perturb(loop.truth, 0.05, random);
  NormalSystem system(loop.factors, values);
  system.Assemble(LinearizeAll(loop.factors, values));
  Eigen::MatrixXd H = system.DenseHessian();
  H.diagonal() *= 1.01;
  const Eigen::VectorXd expected = H.ldlt().solve(-system.Gradient());
  EXPECT_LT((system.Solve(0.01).value() - expected).norm(), 1e-9 * expected.norm());
}

TEST(LevenbergMarquardt, StopsAtTheMaximumOfIterations) {
  Values values = CodeAt(-1.2, 1);
  LevenbergMarquardtOptions options = Tight();
  options.max_iterations = 3;
  const auto summary = MinimizeLevenbergMarquardt({Rosenbrock()}, options, values);
  EXPECT_EQ(summary.reason, StopReason::kMaxIterations);
  EXPECT_EQ(summary.iterations, 3);
}

TEST(LevenbergMarquardt, StopsAtOnceWhereTheGradientIsSmall) {
  Values values = CodeAt(1, 1);
  const auto summary = MinimizeLevenbergMarquardt({Rosenbrock()}, {}, values);
  EXPECT_EQ(summary.reason, StopReason::kGradientSmall);
  EXPECT_EQ(summary.iterations, 0);
}

TEST(LevenbergMarquardt, StopsWhenTheStepIsASmallShareOfTheVariable) {
  Random random(3);
  const Loop loop = MakeLoop(8, random);
  Values values = Perturb(loop.truth, 0.05, random);
  LevenbergMarquardtOptions options;
  options.gradient_tolerance = 0;
  const auto summary = MinimizeLevenbergMarquardt(loop.factors, options, values);
  EXPECT_EQ(summary.reason, StopReason::kStepSmall);
  EXPECT_LT(summary.iterations, 10);
}

TEST(LevenbergMarquardt, StopsAfterStepsBelowTheThresholds) {
  Random random(4);
  const Loop loop = MakeLoop(8, random);
  Values values = Perturb(loop.truth, 0.05, random);
  values.Set(PoseKey(3), values.Pose(PoseKey(3)).Retract(RandomTangent(random, 0.01)));
  LevenbergMarquardtOptions options;
  options.gradient_tolerance = 0;
  options.step_ratio_tolerance = 0;
  options.settled_steps = 1;
  options.settled_thresholds = {.pose = 1e-2, .log_scale = 1e-2, .code = 1e-2};
  const auto summary = MinimizeLevenbergMarquardt(loop.factors, options, values);
  EXPECT_EQ(summary.reason, StopReason::kSettled);
}

TEST(LevenbergMarquardt, SaysWhenNoDampingAllowedLowersTheError) {
  // A Jacobian of the wrong sign: every step goes uphill.
  const auto uphill =
      std::make_shared<CodeFunctionFactor>([](const Eigen::VectorXd& x, Eigen::MatrixXd* jacobian) {
        if (jacobian != nullptr) *jacobian = -Eigen::Matrix2d::Identity();
        return x;
      });
  Values values = CodeAt(1, 2);
  const auto summary = MinimizeLevenbergMarquardt({uphill}, {}, values);
  EXPECT_EQ(summary.reason, StopReason::kNoDecrease);
  EXPECT_EQ(values.Code(CodeKey(0)), Eigen::VectorXd(Eigen::Vector2d(1, 2)));
}

TEST(LevenbergMarquardt, SaysWhenTheSystemCannotBeSolved) {
  // An indefinite "Hessian", as only a wrong factor makes.
  class Indefinite : public Factor {
   public:
    Indefinite() : Factor({CodeKey(0)}) {}
    double Error(const Values&) const override { return 1; }
    NormalBlock Linearize(const Values& values) const override {
      NormalBlock block(BlockLayout(Keys(), values));
      block.H = Eigen::Vector2d(1, -1).asDiagonal();
      block.b.setOnes();
      block.error = 1;
      block.count = 1;
      return block;
    }
  };
  Values values = CodeAt(1, 2);
  const auto summary = MinimizeLevenbergMarquardt({std::make_shared<Indefinite>()}, {}, values);
  EXPECT_EQ(summary.reason, StopReason::kSingular);
}

TEST(LevenbergMarquardt, SaysWhenThereIsNothingToSolve) {
  Values values = CodeAt(1, 2);
  EXPECT_EQ(MinimizeLevenbergMarquardt({}, {}, values).reason, StopReason::kNothingToSolve);
}

TEST(LevenbergMarquardt, VariableWithoutInformationHoldsStill) {
  const auto first_only =
      std::make_shared<CodeFunctionFactor>([](const Eigen::VectorXd& x, Eigen::MatrixXd* jacobian) {
        if (jacobian != nullptr) *jacobian = Eigen::RowVector2d(1, 0);
        return Eigen::VectorXd(Eigen::VectorXd::Constant(1, x[0] - 5));
      });
  Values values = CodeAt(1, 2);
  const auto summary = MinimizeLevenbergMarquardt({first_only}, Tight(), values);
  EXPECT_TRUE(summary.Converged()) << ToString(summary.reason);
  EXPECT_NEAR(values.Code(CodeKey(0))[0], 5, 1e-9);
  EXPECT_EQ(values.Code(CodeKey(0))[1], 2);
}

TEST(LevenbergMarquardt, ReusesTheJacobianWhileTheErrorHardlyChanges) {
  // A floor of error that no step can remove.
  const auto with_floor =
      std::make_shared<CodeFunctionFactor>([](const Eigen::VectorXd& x, Eigen::MatrixXd* jacobian) {
        if (jacobian != nullptr) *jacobian = (Eigen::MatrixXd(3, 2) << 1, 0, 0, 1, 0, 0).finished();
        return Eigen::VectorXd(Eigen::Vector3d(x[0], x[1], 10));
      });
  LevenbergMarquardtOptions options;
  options.gradient_tolerance = 1e-9;
  options.step_ratio_tolerance = 0;
  Values values = CodeAt(0.1, 0.1);
  const auto reused = MinimizeLevenbergMarquardt({with_floor}, options, values);
  EXPECT_EQ(reused.linearizations, 1);
  EXPECT_LT(values.Code(CodeKey(0)).norm(), 1e-7);
  options.reuse_error_change = 0;
  values = CodeAt(0.1, 0.1);
  EXPECT_GT(MinimizeLevenbergMarquardt({with_floor}, options, values).linearizations, 1);
}

TEST(LevenbergMarquardt, ResultDoesNotDependOnThreads) {
  Random random(5);
  const Loop loop = MakeLoop(20, random);
  const Values start = Perturb(loop.truth, 0.05, random);
  LevenbergMarquardtOptions options;
  Values one = start;
  Values three = start;
  const auto a = MinimizeLevenbergMarquardt(loop.factors, options, one);
  options.threads = 3;
  const auto b = MinimizeLevenbergMarquardt(loop.factors, options, three);
  EXPECT_EQ(a.final_error, b.final_error);
  for (const Key& key : one.Keys()) EXPECT_EQ(one.Pose(key).Matrix(), three.Pose(key).Matrix());
}

TEST(LevenbergMarquardt, NumbersThatAreNotFiniteBreakTheContractAndLeaveValuesAlone) {
  const auto broken =
      std::make_shared<CodeFunctionFactor>([](const Eigen::VectorXd& x, Eigen::MatrixXd* jacobian) {
        if (jacobian != nullptr)
          *jacobian = Eigen::Matrix2d::Constant(std::numeric_limits<double>::infinity());
        return x;
      });
  Values values = CodeAt(1, 2);
  EXPECT_THROW(MinimizeLevenbergMarquardt({broken}, {}, values), ContractError);
  EXPECT_EQ(values.Code(CodeKey(0)), Eigen::VectorXd(Eigen::Vector2d(1, 2)));
}

TEST(LevenbergMarquardt, KeyThatIsNotThereBreaksTheContract) {
  Values values;
  EXPECT_THROW(MinimizeLevenbergMarquardt({Rosenbrock()}, {}, values), ContractError);
}

}  // namespace
}  // namespace lumen
