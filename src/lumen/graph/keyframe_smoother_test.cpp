// The smoother over keyframes that see each other relatively: what moves together costs nothing, codes can be
// held, keyframes can go.
#include <gtest/gtest.h>

#include "lumen/base/error.h"
#include "lumen/graph/levenberg_marquardt.h"
#include "lumen/graph/normal_system.h"
#include "lumen/graph/random_graph_test.h"

namespace lumen {
namespace {

Values BatchFrom(SmoothedMap& run) {
  Values batch = run.smoother.Estimate();
  for (const Key& key : batch.Keys()) batch.Set(key, run.graph.Disturbed(key, 0.02));
  MinimizeLevenbergMarquardt(run.Factors(), TightBatch(), batch);
  return batch;
}

// All factors of a keyframe, and the keyframe.
SmootherChange TakeOut(const SmoothedMap& run, int64_t id) {
  SmootherChange change;
  for (const auto& [factor_id, factor] : run.alive) {
    for (const Key& key : factor->Keys()) {
      if (key == KeyframeKey(id)) change.removed_factors.push_back(factor_id);
    }
  }
  change.removed_variables.push_back(KeyframeKey(id));
  return change;
}

TEST(KeyframeSmoother, EqualsTheBatchSolutionWithLoopsRemovalHoldingAndReinitialisation) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SmoothedMap run(seed, Exact());
    for (int i = 0; i < 12; ++i) run.Apply(run.graph.Grow());
    run.Apply({.held = {KeyframeKey(3), KeyframeKey(4), KeyframeKey(7)}});
    SmootherChange change = TakeOut(run, 5);
    for (const int64_t id : {6, 8})
      change.reinitialized.Insert(KeyframeKey(id), run.graph.Disturbed(id, 0.2));
    change.new_factors.push_back(run.graph.Tie(6, 4));  // its neighbours are tied to each other instead
    change.new_factors.push_back(run.graph.Tie(7, 4));
    run.Apply(change);
    run.Apply(run.graph.Grow(0));
    run.Apply({.released = {KeyframeKey(3), KeyframeKey(4), KeyframeKey(7)}});
    Converge(run.smoother);
    EXPECT_FALSE(run.smoother.Contains(KeyframeKey(5)));
    ASSERT_LT(LargestDifference(run.smoother.Estimate(), BatchFrom(run)), 1e-8) << "seed " << seed;
  }
}

// Moved by some of the thresholds, a step evaluates no more than it may; moved far beyond them, all.
TEST(KeyframeSmoother, WhatIsNotEvaluatedNowWaitsUnlessItIsFarOff) {
  SmootherOptions options = Exact();
  options.relinearize = {.pose = 1e-3, .log_scale = 1e-3, .code = 1e-3};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SmoothedMap run(seed, options);
    for (int i = 0; i < 20; ++i) run.Apply(run.graph.Grow());
    for (int i = 0; i < 40; ++i) run.Apply({});
    const auto move = [&](double size, int most) {
      SmootherChange change;
      for (const int64_t id : {3, 4, 9, 15}) {
        const Value value = run.smoother.Estimate(KeyframeKey(id));
        change.reinitialized.Insert(
            KeyframeKey(id), Retract(value, RandomVector(run.graph.GetRandom(), Dimension(value), size)));
      }
      return run.smoother.Update(change, most);
    };
    SmootherSummary summary = move(3e-3, 2);
    EXPECT_LE(summary.evaluated_factors, 4) << "two where they were put, two where the step led";
    for (int i = 0; i < 200 && summary.strained_factors > 0; ++i) {
      summary = run.smoother.Update({}, 2);
      EXPECT_LE(summary.evaluated_factors, 2);
    }
    EXPECT_EQ(summary.strained_factors, 0);
    EXPECT_LT(LargestDifference(run.smoother.Estimate(), BatchFrom(run)), 5e-3) << "seed " << seed;
    EXPECT_GT(move(0.3, 2).evaluated_factors, 8);
  }
}

TEST(KeyframeSmoother, WhatWaitsMayGo) {
  SmoothedMap run(4, Exact());
  for (int i = 0; i < 12; ++i) run.Apply(run.graph.Grow());
  Converge(run.smoother);
  SmootherChange change;
  for (int64_t id = 1; id < 12; ++id)
    change.reinitialized.Insert(KeyframeKey(id), run.graph.Disturbed(id, 0.2));
  run.smoother.Update(change, 1);
  SmootherChange out = TakeOut(run, 5);
  out.new_factors.push_back(run.graph.Tie(6, 4));
  out.new_factors.push_back(run.graph.Tie(7, 4));
  run.Apply(out);
  Converge(run.smoother);
  EXPECT_LT(LargestDifference(run.smoother.Estimate(), BatchFrom(run)), 1e-8);
}

TEST(KeyframeSmoother, FactorsOfHeldKeyframesAloneMayBeStrainedFurther) {
  const auto evaluated = [](double slack, bool hold) {
    SmootherOptions options;
    options.held_slack = slack;
    SmoothedMap run(6, options);
    for (int i = 0; i < 12; ++i) run.Apply(run.graph.Grow());
    for (int i = 0; i < 30; ++i) run.Apply({});
    if (hold) run.Apply({.held = {KeyframeKey(4), KeyframeKey(5), KeyframeKey(6)}});
    SmootherChange change;  // moved by twice the bound
    KeyframeValue moved = run.smoother.Estimate().Keyframe(KeyframeKey(5));
    moved.world_from_keyframe =
        moved.world_from_keyframe * Sim3::Exp((Vector7d() << 2e-3, 0, 0, 0, 0, 0, 0).finished());
    change.reinitialized.Insert(KeyframeKey(5), moved);
    return run.Apply(change).evaluated_factors;
  };
  const int all = evaluated(1, true);
  EXPECT_GT(all, 0);
  EXPECT_LT(evaluated(10, true), all) << "those between held ones";
  EXPECT_EQ(evaluated(10, false), evaluated(1, false));
}

TEST(KeyframeSmoother, WhatMovesTogetherIsNotEvaluatedAgain) {
  SmoothedMap run(3, {});
  for (int i = 0; i < 30; ++i) run.Apply(run.graph.Grow());
  for (int i = 0; i < 20; ++i) run.Apply({});
  const Sim3 whole = Sim3::Exp((Vector7d() << 0.3, -0.2, 0.5, 0.2, 0.4, -0.3, 0.6).finished());
  SmootherChange change;
  for (int64_t id = 0; id < 30; ++id) {
    KeyframeValue moved = run.smoother.Estimate().Keyframe(KeyframeKey(id));
    moved.world_from_keyframe = whole * moved.world_from_keyframe;
    change.reinitialized.Insert(KeyframeKey(id), moved);
  }
  // What holds the first keyframe in place goes, and holds it in the new place from now on.
  change.removed_factors = {0};
  change.new_factors = {std::make_shared<HoldKeyframe>(
      0, std::get<KeyframeValue>(change.reinitialized.At(KeyframeKey(0))), 10, 0.5)};
  const Values before = change.reinitialized;
  const SmootherSummary summary = run.Apply(change);
  EXPECT_LE(summary.evaluated_factors, 4) << "the new one, and what it lets go of";
  EXPECT_LT(LargestDifference(before, run.smoother.Estimate()), 2e-2);
}

// The far end of a long chain is pulled to and fro: every keyframe but the first moves, none relative to its
// neighbours.
TEST(KeyframeSmoother, AChainWhoseScaleBreathesEvaluatesNothing) {
  Random random(5);
  IncrementalSmoother smoother;
  constexpr int64_t kCount = 200;
  const KeyframeValue origin{Sim3(), Eigen::VectorXd::Zero(2)};
  Vector7d weights = Vector7d::Constant(30);
  weights[6] = 3;
  const auto place = [&](int64_t id) {
    return KeyframeValue{Sim3(1, Eigen::Quaterniond::Identity(), {0.1 * static_cast<double>(id), 0, 0}),
                         origin.code};
  };
  for (int64_t id = 0; id < kCount; ++id) {
    SmootherChange change;
    change.new_values.Insert(KeyframeKey(id), place(id));
    change.new_factors.push_back(std::make_shared<HoldKeyframe>(id, place(0), id == 0 ? 100 : 0, 1));
    for (int64_t other = std::max<int64_t>(0, id - 3); other < id; ++other) {
      const Sim3 measured = place(other).world_from_keyframe.Inverse() * place(id).world_from_keyframe;
      change.new_factors.push_back(
          std::make_shared<BetweenKeyframes>(id, other, measured, weights, origin.code));
    }
    smoother.Update(change);
  }
  FactorId pull = -1;
  double largest_move = 0;
  for (int breath = 0; breath < 6; ++breath) {
    KeyframeValue goal = place(kCount - 1);
    goal.world_from_keyframe = Sim3(breath % 2 == 0 ? 1.02 : 0.98, goal.world_from_keyframe.Rotation(),
                                    goal.world_from_keyframe.Translation());
    SmootherChange change;
    if (pull >= 0) change.removed_factors = {pull};
    change.new_factors = {std::make_shared<HoldKeyframe>(kCount - 1, goal, 2, 0)};
    const Values before = smoother.Estimate();
    const SmootherSummary summary = smoother.Update(change);
    pull = summary.new_factor_ids[0];
    EXPECT_LE(summary.evaluated_factors, 8) << "the pull and the links next to it, of 800";
    largest_move = std::max(largest_move, LargestDifference(before, smoother.Estimate()));
    smoother.Update();
  }
  EXPECT_GT(largest_move, 5e-3) << "it did move, far beyond the thresholds";
}

TEST(KeyframeSmoother, CodesThatAreHeldStayAndTheRestIsTheSolutionGivenThem) {
  SmoothedMap run(9, Exact());
  for (int i = 0; i < 12; ++i) run.Apply(run.graph.Grow());
  const std::vector<Key> held{KeyframeKey(2), KeyframeKey(3), KeyframeKey(8)};
  SmootherChange change{.held = held};
  change.reinitialized.Insert(KeyframeKey(5), run.graph.Disturbed(5, 0.2));
  std::vector<Eigen::VectorXd> codes;
  for (const Key& key : held) codes.push_back(run.smoother.Estimate().Keyframe(key).code);
  run.Apply(change);
  Converge(run.smoother);
  const Values estimate = run.smoother.Estimate();
  for (size_t i = 0; i < held.size(); ++i) {
    EXPECT_TRUE(run.smoother.IsHeld(held[i]));
    EXPECT_EQ(estimate.Keyframe(held[i]).code, codes[i]);
  }
  // The gradient vanishes in all that is free, and would not in what is held.
  NormalSystem system(run.Factors(), estimate);
  system.Assemble(LinearizeAll(run.Factors(), estimate));
  double free = 0;
  double at_held = 0;
  for (int i = 0; i < system.Layout().Size(); ++i) {
    const Eigen::VectorXd b =
        system.Gradient().segment(system.Layout().Offset(i), system.Layout().Dimension(i));
    const bool is_held = run.smoother.IsHeld(system.Layout().Keys()[static_cast<size_t>(i)]);
    free = std::max(free, b.head(is_held ? 7 : b.size()).cwiseAbs().maxCoeff());
    if (is_held) at_held = std::max(at_held, b.tail(RandomMap::kCodes).cwiseAbs().maxCoeff());
  }
  EXPECT_LT(free, 1e-8);
  EXPECT_GT(at_held, 1e-6);
}

TEST(KeyframeSmoother, CovariancesEqualTheDenseInverseWhetherCodesAreHeldOrNot) {
  SmoothedMap run(11, Exact());
  for (int i = 0; i < 10; ++i) run.Apply(run.graph.Grow());
  Converge(run.smoother);
  const Values values = run.smoother.Estimate();
  NormalSystem system(run.Factors(), values);
  system.Assemble(LinearizeAll(run.Factors(), values));
  const Eigen::MatrixXd dense = system.DenseHessian().inverse();
  constexpr int kSize = 7 + RandomMap::kCodes;
  Eigen::MatrixXd expected(2 * kSize, 2 * kSize);
  const std::vector<int> chosen{2, 7};
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      expected.block(i * kSize, j * kSize, kSize, kSize) = dense.block(
          chosen[static_cast<size_t>(i)] * kSize, chosen[static_cast<size_t>(j)] * kSize, kSize, kSize);
    }
  }
  const std::vector<Key> keys{KeyframeKey(2), KeyframeKey(7)};
  EXPECT_LT((run.smoother.MarginalCovariance(keys) - expected).norm(), 1e-7 * expected.norm());
  run.Apply({.held = {KeyframeKey(1), KeyframeKey(2), KeyframeKey(3)}});
  EXPECT_LT((run.smoother.MarginalCovariance(keys) - expected).norm(), 1e-7 * expected.norm());
}

TEST(KeyframeSmoother, BrokenContracts) {
  SmoothedMap run(6, {});
  for (int i = 0; i < 6; ++i) run.Apply(run.graph.Grow());
  EXPECT_THROW(run.smoother.Update({.removed_variables = {KeyframeKey(3)}}), ContractError)
      << "factors hold it";
  EXPECT_THROW(run.smoother.Update({.removed_variables = {KeyframeKey(33)}}), ContractError);
  EXPECT_THROW(run.smoother.Update({.held = {KeyframeKey(33)}}), ContractError);
  SmootherChange gone = TakeOut(run, 3);
  gone.new_factors.push_back(run.graph.Tie(3, 2));
  EXPECT_THROW(run.smoother.Update(gone), ContractError) << "a factor on what goes";
  EXPECT_EQ(run.smoother.NumVariables(), 6U);
  run.Apply(TakeOut(run, 3));
  EXPECT_EQ(run.smoother.NumVariables(), 5U);
  EXPECT_THROW(run.smoother.Estimate(KeyframeKey(3)), ContractError);
}

TEST(KeyframeSmoother, TheSameBitsWhateverTheThreads) {
  SmootherOptions threaded;
  threaded.threads = 5;
  SmoothedMap one(8, {});
  SmoothedMap five(8, threaded);
  for (int i = 0; i < 40; ++i) {
    one.Apply(one.graph.Grow());
    five.Apply(five.graph.Grow());
  }
  for (int64_t id = 0; id < 40; ++id) {
    const KeyframeValue& a = one.smoother.Estimate().Keyframe(KeyframeKey(id));
    const KeyframeValue& b = five.smoother.Estimate().Keyframe(KeyframeKey(id));
    EXPECT_EQ(a.world_from_keyframe.Matrix(), b.world_from_keyframe.Matrix());
    EXPECT_EQ(a.code, b.code);
  }
}

}  // namespace
}  // namespace lumen
