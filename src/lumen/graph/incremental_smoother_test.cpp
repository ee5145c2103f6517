#include "lumen/graph/incremental_smoother.h"

#include <gtest/gtest.h>

#include "lumen/base/error.h"
#include "lumen/graph/elimination_order.h"
#include "lumen/graph/normal_system.h"
#include "lumen/graph/random_graph_test.h"

namespace lumen {
namespace {

// Of the sum of all factors' models, each carried from where it was made to the estimate.
template <typename Graph>
double LargestModelGradient(const Smoothed<Graph>& run) {
  const Values& estimate = run.smoother.Estimate();
  NormalBlock sum{BlockLayout(estimate.Keys(), estimate)};
  for (const auto& [id, factor] : run.alive) {
    const std::vector<Value>& at = run.smoother.LinearizedAt(id);
    Values values;
    for (size_t i = 0; i < at.size(); ++i) values.Insert(factor->Keys()[i], at[i]);
    NormalBlock block = factor->Linearize(values);
    block.b += block.H * factor->StepFrom(at, estimate);
    sum += block;
  }
  return sum.b.cwiseAbs().maxCoeff();
}

// Takes out a few factors that are not the only tie of a keyframe: the second ties of loops.
std::vector<FactorId> SomeLoopFactors(const SmoothedGraph& graph) {
  std::vector<FactorId> ids;
  for (const auto& [id, factor] : graph.alive) {
    const int64_t distance = std::abs(factor->Keys().front().id - factor->Keys().back().id);
    if (distance > 1 && factor->Keys().size() == 2 && ids.size() < 2) ids.push_back(id);
  }
  return ids;
}

TEST(Smoother, EqualsTheBatchSolutionOnAHundredGraphsWithLoopsRemovalAndReinitialisation) {
  int removed = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SmoothedGraph run(seed, Exact());
    for (int i = 0; i < 12; ++i) run.Apply(run.graph.Grow());
    SmootherChange change;
    change.removed_factors = SomeLoopFactors(run);
    removed += static_cast<int>(change.removed_factors.size());
    for (int i = 0; i < 3; ++i) {
      const int64_t id = run.graph.GetRandom().UniformInt(1, run.graph.Count() - 1);
      for (const Key& key : {PoseKey(id), CodeKey(id)}) {
        if (!change.reinitialized.Contains(key)) {
          change.reinitialized.Insert(key, run.graph.Disturbed(key, 0.2));
        }
      }
    }
    run.Apply(change);
    run.Apply(run.graph.Grow());
    Converge(run.smoother);

    Values batch = run.smoother.Estimate();
    for (const Key& key : batch.Keys()) batch.Set(key, run.graph.Disturbed(key, 0.02));
    MinimizeLevenbergMarquardt(run.Factors(), TightBatch(), batch);
    ASSERT_LT(LargestDifference(run.smoother.Estimate(), batch), 1e-8) << "seed " << seed;
  }
  EXPECT_GT(removed, 50);
}

TEST(Smoother, StaysNearTheBatchSolutionWithThePapersThresholds) {
  SmoothedGraph run(7, {});
  for (int i = 0; i < 30; ++i) run.Apply(run.graph.Grow());
  for (int i = 0; i < 10; ++i) run.Apply({});
  Values batch = run.smoother.Estimate();
  MinimizeLevenbergMarquardt(run.Factors(), TightBatch(), batch);
  EXPECT_LT(LargestDifference(run.smoother.Estimate(), batch), 5e-3);
}

// With thresholds some factors are linearised anew and others are not; still the estimate is the exact
// solution of the quadratic models they have, wherever those were made.
TEST(Smoother, EstimateSolvesTheSystemOfTheLinearisationsThereAre) {
  SmootherOptions options;
  options.relinearize = {.pose = 5e-3, .log_scale = 5e-3, .code = 5e-3};
  options.recentre = 0;
  options.wildfire = 0;
  int64_t strained = 0;
  int64_t settled = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    SmoothedMap run(seed, options);
    for (int i = 0; i < 15; ++i) {
      SmootherSummary summary = run.Apply(run.graph.Grow());
      strained += summary.strained_factors;
      for (int k = 0; k < 20 && (summary.strained_factors > 0 || summary.largest_step > 1e-12); ++k) {
        summary = run.Apply({});
        strained += summary.strained_factors;
      }
      if (summary.strained_factors > 0 || summary.largest_step > 1e-12) continue;
      ++settled;
      EXPECT_LT(LargestModelGradient(run), 1e-9) << "seed " << seed << " step " << i;
    }
  }
  EXPECT_GT(strained, 100);
  EXPECT_GT(settled, 100);
}

TEST(Smoother, EvaluatesOnlyFactorsThatTouchWhatMoved) {
  SmoothedGraph run(3, {});
  for (int i = 0; i < 40; ++i) run.Apply(run.graph.Grow());
  for (int i = 0; i < 20; ++i) run.Apply({});
  SmootherSummary settled = run.Apply({});
  EXPECT_EQ(settled.evaluated_factors, 0);
  EXPECT_EQ(settled.strained_factors, 0);
  EXPECT_EQ(settled.eliminated_variables, 0);
  EXPECT_EQ(settled.solved_variables, 0);

  // Pushing one code aside concerns its own factors; what follows concerns what moved, not the graph.
  SmootherChange push;
  push.reinitialized.Insert(CodeKey(20),
                            Retract(run.smoother.Estimate(CodeKey(20)), Eigen::Vector3d(0.3, 0, 0)));
  const SmootherSummary pushed = run.Apply(push);
  int touching = 0;
  for (const auto& [_, factor] : run.alive) {
    for (const Key& key : factor->Keys()) touching += key == CodeKey(20) ? 1 : 0;
  }
  EXPECT_GE(pushed.evaluated_factors, touching);
  EXPECT_LE(pushed.evaluated_factors, touching + 12);
  EXPECT_GT(static_cast<int>(run.alive.size()), 100);
}

TEST(Smoother, CountsAreThoseOfTheFactorsTouched) {
  // Two keyframes far apart, tied by nothing: moving one never evaluates the other's factors.
  Random random(1);
  IncrementalSmoother smoother;
  SmootherChange change;
  for (const int64_t id : {0, 1}) {
    change.new_values.Insert(PoseKey(id), Rigid3());
    change.new_factors.push_back(
        std::make_shared<AnchorFactor>(PoseKey(id), Rigid3::Exp(RandomTangent(random, 0.1))));
  }
  EXPECT_EQ(smoother.Update(change).evaluated_factors, 4);  // both new, both moved
  Converge(smoother, 1e-4);
  SmootherChange again;
  again.reinitialized.Insert(PoseKey(1), Rigid3());
  EXPECT_EQ(smoother.Update(again).evaluated_factors, 2);  // put elsewhere, then moved back
}

TEST(Smoother, AddingToALongChainTouchesNoMoreThanAddingToAShortOne) {
  Random random(4);
  IncrementalSmoother smoother;
  std::map<int64_t, SmootherSummary> at;
  for (int64_t id = 0; id <= 800; ++id) {
    const ChainLink link = MakeChainLink(id, random);
    at[id] = smoother.Update({.new_values = link.values, .new_factors = link.factors});
  }
  for (const int64_t id : {50, 200, 800}) {
    EXPECT_EQ(at[id].evaluated_factors, 5) << id;
    EXPECT_LE(at[id].eliminated_variables, at[50].eliminated_variables) << id;
    EXPECT_LE(at[id].solved_variables, at[50].solved_variables + 6) << id;
    EXPECT_LE(at[id].eliminated_variables, 10) << id;
  }
}

TEST(Smoother, CovariancesEqualTheDenseInverse) {
  SmoothedGraph run(11, Exact());
  for (int i = 0; i < 15; ++i) run.Apply(run.graph.Grow());
  Converge(run.smoother);
  const Values values = run.smoother.Estimate();
  NormalSystem system(run.Factors(), values);
  system.Assemble(LinearizeAll(run.Factors(), values));
  const Eigen::MatrixXd dense = system.DenseHessian().inverse();
  const std::vector<Key> chosen{PoseKey(3), CodeKey(14), LogScaleKey(0), PoseKey(9)};
  const BlockLayout picked(chosen, values);
  Eigen::MatrixXd expected(picked.TotalDimension(), picked.TotalDimension());
  for (int i = 0; i < picked.Size(); ++i) {
    for (int j = 0; j < picked.Size(); ++j) {
      const int a = system.Layout().IndexOf(chosen[static_cast<size_t>(i)]);
      const int b = system.Layout().IndexOf(chosen[static_cast<size_t>(j)]);
      expected.block(picked.Offset(i), picked.Offset(j), picked.Dimension(i), picked.Dimension(j)) =
          dense.block(system.Layout().Offset(a), system.Layout().Offset(b), picked.Dimension(i),
                      picked.Dimension(j));
    }
  }
  const Eigen::MatrixXd covariance = run.smoother.MarginalCovariance(chosen);
  EXPECT_LT((covariance - expected).norm(), 1e-8 * expected.norm());
  EXPECT_LT((run.smoother.MarginalCovariance({PoseKey(9)}) - expected.bottomRightCorner(6, 6)).norm(),
            1e-8 * expected.norm());

  // The same by the tree as it stands, which holds nothing here.
  EXPECT_LT((run.smoother.JointCovariance(chosen, 100) - expected).norm(), 1e-8 * expected.norm());
  EXPECT_LT(
      (run.smoother.JointCovariance({PoseKey(9)}, 3) - expected.bottomRightCorner(6, 6).topLeftCorner(3, 3))
          .norm(),
      1e-8 * expected.norm());
  for (const auto& [key, covariance_of_one] : run.smoother.Covariances(100)) {
    const int at = system.Layout().IndexOf(key);
    const int dimension = system.Layout().Dimension(at);
    const Eigen::MatrixXd block =
        dense.block(system.Layout().Offset(at), system.Layout().Offset(at), dimension, dimension);
    EXPECT_LT((covariance_of_one - block).norm(), 1e-8 * expected.norm()) << ToString(key);
  }
  Eigen::MatrixXd rhs = Eigen::MatrixXd::Zero(dense.rows(), 2);
  std::map<Key, Eigen::MatrixXd> given;
  for (const Key& key : {PoseKey(3), PoseKey(9)}) {
    given[key] = Eigen::MatrixXd::Random(6, 2);
    rhs.middleRows(system.Layout().Offset(system.Layout().IndexOf(key)), 6) = given[key];
  }
  const Eigen::MatrixXd solution = dense * rhs;
  for (const auto& [key, rows] : run.smoother.ApplyInverse(given, 2)) {
    const int at = system.Layout().IndexOf(key);
    EXPECT_LT((rows - solution.middleRows(system.Layout().Offset(at), rows.rows())).norm(),
              1e-8 * solution.norm())
        << ToString(key);
  }
}

// r = atan(x) far from its minimum: a full Gauss–Newton step overshoots without end.
class AtanFactor : public ResidualFactor {
 public:
  explicit AtanFactor(Key key) : ResidualFactor({key}) {}

 protected:
  Eigen::VectorXd Residual(const Values& values, Eigen::MatrixXd* jacobian) const override {
    const double x = values.LogScale(Keys()[0]);
    if (jacobian != nullptr) *jacobian = Eigen::MatrixXd::Constant(1, 1, 1 / (1 + x * x));
    return Eigen::VectorXd::Constant(1, std::atan(x));
  }
};

TEST(Smoother, ShortensAStepThatWouldRaiseTheError) {
  IncrementalSmoother smoother;
  SmootherChange change;
  change.new_values.Insert(LogScaleKey(0), 5.0);
  change.new_factors.push_back(std::make_shared<AtanFactor>(LogScaleKey(0)));
  const SmootherSummary first = smoother.Update(change);
  EXPECT_EQ(first.status, SmootherStatus::kStepShortened);
  EXPECT_LT(first.step_fraction, 1);
  EXPECT_GT(first.trial_evaluations, 0);
  for (int i = 0; i < 20; ++i) smoother.Update();
  EXPECT_NEAR(std::get<double>(smoother.Estimate(LogScaleKey(0))), 0, 1e-3);
}

TEST(Smoother, DropsAStepThatNoLengthMakesGood) {
  // A Jacobian of the wrong sign: whatever the length, the error rises.
  class Uphill : public ResidualFactor {
   public:
    Uphill() : ResidualFactor({LogScaleKey(0)}) {}

   protected:
    Eigen::VectorXd Residual(const Values& values, Eigen::MatrixXd* jacobian) const override {
      if (jacobian != nullptr) *jacobian = Eigen::MatrixXd::Constant(1, 1, -1e-4);
      return Eigen::VectorXd::Constant(1, values.LogScale(LogScaleKey(0)));
    }
  };
  IncrementalSmoother smoother;
  SmootherChange change;
  change.new_values.Insert(LogScaleKey(0), 2.0);
  change.new_factors.push_back(std::make_shared<Uphill>());
  const SmootherSummary summary = smoother.Update(change);
  EXPECT_EQ(summary.status, SmootherStatus::kStepDropped);
  EXPECT_EQ(summary.step_fraction, 0);
  EXPECT_EQ(std::get<double>(smoother.Estimate(LogScaleKey(0))), 2.0);
}

TEST(Smoother, OneBadFactorDoesNotWreckTheMapAndCanBeTakenOutAgain) {
  SmoothedGraph run(5, Exact());
  for (int i = 0; i < 20; ++i) run.Apply(run.graph.Grow());
  Converge(run.smoother);
  const Values before = run.smoother.Estimate();
  SmootherChange bad;  // a false loop: far away and turned around
  bad.new_factors.push_back(std::make_shared<BetweenFactor>(
      PoseKey(2), PoseKey(18), Rigid3(ExpSO3({0, 2.5, 0}), Eigen::Vector3d(30, 0, 0)), 1.0));
  const SmootherSummary summary = run.Apply(bad);
  for (int i = 0; i < 3; ++i) EXPECT_LE(run.Apply({}).error, 1.06 * summary.error);
  run.Apply({.removed_factors = summary.new_factor_ids});
  Converge(run.smoother);
  EXPECT_LT(LargestDifference(before, run.smoother.Estimate()), 1e-7);
}

TEST(Smoother, VariableWithoutInformationHoldsStillAndIsReported) {
  IncrementalSmoother smoother;
  SmootherChange change;
  change.new_values.Insert(PoseKey(0), Rigid3());
  change.new_values.Insert(PoseKey(1), Rigid3(Eigen::Quaterniond::Identity(), {1, 2, 3}));
  change.new_factors.push_back(std::make_shared<BetweenFactor>(PoseKey(0), PoseKey(1), Rigid3()));
  const SmootherSummary summary = smoother.Update(change);  // nothing anchors the two
  EXPECT_GT(summary.singular_cliques, 0);
  for (int i = 0; i < 10; ++i) smoother.Update();
  const Values values = smoother.Estimate();
  EXPECT_LT(values.Pose(PoseKey(0)).Local(values.Pose(PoseKey(1))).norm(), 1e-2);
}

TEST(Smoother, BrokenContractsLeaveItAsItWas) {
  SmoothedGraph run(6, {});
  for (int i = 0; i < 4; ++i) run.Apply(run.graph.Grow());
  const size_t factors = run.smoother.NumFactors();
  SmootherChange unknown;
  unknown.new_values.Insert(PoseKey(100), Rigid3());
  unknown.new_factors.push_back(std::make_shared<BetweenFactor>(PoseKey(100), PoseKey(101), Rigid3()));
  EXPECT_THROW(run.smoother.Update(unknown), ContractError);
  EXPECT_FALSE(run.smoother.Contains(PoseKey(100)));
  EXPECT_THROW(run.smoother.Update({.removed_factors = {999}}), ContractError);
  EXPECT_THROW(run.smoother.Update({.removed_factors = {0, 0}}), ContractError);
  SmootherChange twice;
  twice.new_values.Insert(PoseKey(0), Rigid3());
  EXPECT_THROW(run.smoother.Update(twice), ContractError);
  SmootherChange absent;
  absent.reinitialized.Insert(PoseKey(50), Rigid3());
  EXPECT_THROW(run.smoother.Update(absent), ContractError);
  EXPECT_THROW(run.smoother.Estimate(PoseKey(50)), ContractError);
  EXPECT_THROW(run.smoother.MarginalCovariance({PoseKey(50)}), ContractError);
  EXPECT_EQ(run.smoother.NumFactors(), factors);
  EXPECT_EQ(run.smoother.NumVariables(), 12U);
  run.Apply({.removed_factors = {0}});
  EXPECT_EQ(run.smoother.NumFactors(), factors - 1);
}

TEST(Smoother, ResultDoesNotDependOnThreads) {
  SmootherOptions threaded;
  threaded.threads = 3;
  SmoothedGraph one(8, {});
  SmoothedGraph three(8, threaded);
  for (int i = 0; i < 15; ++i) {
    one.Apply(one.graph.Grow());
    three.Apply(three.graph.Grow());
  }
  const Values a = one.smoother.Estimate();
  const Values b = three.smoother.Estimate();
  for (int64_t id = 0; id < 15; ++id) {
    EXPECT_EQ(a.Pose(PoseKey(id)).Matrix(), b.Pose(PoseKey(id)).Matrix());
    EXPECT_EQ(a.Code(CodeKey(id)), b.Code(CodeKey(id)));
  }
}

TEST(SmootherEliminationOrder, EliminatesLeavesFirstAndKeptVariablesLast) {
  // A star with centre 0 and leaves 1 … 4: leaves first gives no fill.
  EliminationProblem star;
  star.dimensions = {1, 1, 1, 1, 1};
  star.cliques = {{0, 1}, {0, 2}, {0, 3}, {0, 4}};
  star.is_last = {0, 0, 1, 0, 0};
  const std::vector<EliminationStep> steps = OrderElimination(star);
  ASSERT_EQ(steps.size(), 5U);
  EXPECT_EQ(steps.back().variable, 2);
  for (const EliminationStep& step : steps) EXPECT_LE(step.neighbours.size(), 1U);
}

}  // namespace
}  // namespace lumen
