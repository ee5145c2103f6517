#include "lumen/factors/edge_factor.h"

#include <gtest/gtest.h>

#include "lumen/factors/feature_metric_factor.h"
#include "lumen/factors/geometric_consistency_factor.h"
#include "lumen/factors/pair_scene_test.h"
#include "lumen/geometry/numeric_jacobian.h"

namespace lumen {
namespace {

// FM and GC both ways between keyframes 0 and 1, in units of their own.
struct Edge {
  static constexpr double kUnits[] = {1.7, 0.6};

  explicit Edge(const PairScene& scene) {
    const MapSide source{0, kUnits[0]};
    const MapSide target{1, kUnits[1]};
    const PairVariables there = PairVariables::World(source, target);
    const PairVariables back = PairVariables::World(target, source);
    const auto back_samples = MakeKeyframeSamples(scene.target);
    parts = {std::make_shared<FeatureMetricFactor>(there, scene.samples, scene.target->frame),
             std::make_shared<FeatureMetricFactor>(back, back_samples, scene.source->frame),
             std::make_shared<GeometricConsistencyFactor>(there, scene.samples, scene.target),
             std::make_shared<GeometricConsistencyFactor>(back, back_samples, scene.source)};
    factor = std::make_shared<EdgeFactor>(KeyframeKey(0), KeyframeKey(1), parts);
    int64_t id = 0;
    for (const KeyframeState* state : {&scene.source_state, &scene.target_state}) {
      truth.Insert(KeyframeKey(id),
                   MakeKeyframeValue(state->world_from_camera, state->log_scale, state->code, kUnits[id]));
      ++id;
    }
  }

  FactorGraph parts;
  FactorPtr factor;
  Values truth;
};

Values Moved(const Values& values, const Eigen::VectorXd& d) {
  Values moved = values;
  int row = 0;
  for (const Key& key : values.Keys()) {
    const int size = Dimension(values.At(key));
    moved.Set(key, Retract(values.At(key), d.segment(row, size)));
    row += size;
  }
  return moved;
}

Eigen::VectorXd RandomStep(uint64_t seed, double size) {
  Random random(seed);
  return Eigen::VectorXd::NullaryExpr(46, [&] { return random.Normal(0, size); });
}

TEST(EdgeFactorTest, IsTheSumOfItsPartsWhicheverWayTheyGo) {
  const Edge edge(MakeCavityScene());
  const Values values = Moved(edge.truth, RandomStep(1, 0.01));
  const NormalBlock whole = edge.factor->Linearize(values);
  NormalBlock sum{BlockLayout({KeyframeKey(0), KeyframeKey(1)}, values)};
  double error = 0;
  for (const FactorPtr& part : edge.parts) {
    sum += part->Linearize(values);
    error += part->Error(values);
  }
  EXPECT_EQ(whole.H, sum.H);
  EXPECT_EQ(whole.b, sum.b);
  EXPECT_DOUBLE_EQ(edge.factor->Error(values), error);
}

// The gradient of parts in either direction is that of the error by both keyframes' own tangents.
TEST(EdgeFactorTest, GradientIsThatOfTheErrorByBothKeyframesOwnTangents) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const PairScene scene = MakeAffineScene({.width = 48, .height = 40, .seed = seed});
    Values truth;
    truth.Insert(KeyframeKey(0),
                 MakeKeyframeValue(scene.source_state.world_from_camera, scene.source_state.log_scale,
                                   scene.source_state.code, 2.5));
    truth.Insert(KeyframeKey(1),
                 MakeKeyframeValue(scene.target_state.world_from_camera, scene.target_state.log_scale,
                                   scene.target_state.code, 0.4));
    GeometricConsistencyOptions plain;
    plain.plain = true;
    const auto variables = PairVariables::World(MapSide{0, 2.5}, MapSide{1, 0.4});
    const EdgeFactor factor(
        KeyframeKey(1), KeyframeKey(0),
        {std::make_shared<GeometricConsistencyFactor>(variables, scene.samples, scene.target, plain)});
    const Values values = Moved(truth, RandomStep(seed, 0.02));
    const NormalBlock block = factor.Linearize(values);
    ASSERT_EQ(block.layout.Keys().front(), KeyframeKey(1));
    const auto error = [&](const Eigen::VectorXd& d) -> Eigen::VectorXd {
      Values at = values;
      at.Set(KeyframeKey(1), Retract(values.At(KeyframeKey(1)), d.head<23>()));
      at.Set(KeyframeKey(0), Retract(values.At(KeyframeKey(0)), d.tail<23>()));
      return Eigen::VectorXd::Constant(1, factor.Error(at));
    };
    const Eigen::MatrixXd numeric = NumericJacobian(error, Eigen::VectorXd::Zero(46), 1e-7);
    EXPECT_LT(RelativeError(block.b.transpose(), numeric), 1e-5) << "seed " << seed;
  }
}

TEST(EdgeFactorTest, NothingChangesWhileBothMoveTurnAndGrowTogether) {
  const Edge edge(MakeCavityScene());
  const Values values = Moved(edge.truth, RandomStep(2, 0.01));
  const Sim3 whole = Sim3::Exp((Vector7d() << 3, -2, 1, 0.5, 1.2, -0.7, 0.9).finished());
  Values moved = values;
  std::vector<Value> from;
  for (const Key& key : values.Keys()) {
    const KeyframeValue& keyframe = values.Keyframe(key);
    from.push_back(keyframe);
    moved.Set(key, KeyframeValue{whole * keyframe.world_from_keyframe, keyframe.code});
  }
  EXPECT_LT(edge.factor->StepFrom(from, moved).norm(), 1e-12);
  const NormalBlock here = edge.factor->Linearize(values);
  const NormalBlock there = edge.factor->Linearize(moved);
  EXPECT_NEAR(here.error, there.error, 1e-5 * here.error);
  EXPECT_LT((here.H - there.H).norm(), 1e-5 * here.H.norm());
  EXPECT_LT((here.b - there.b).norm(), 1e-4 * here.b.norm());
}

// What the model says after a step that only one of them made, or only the other in the opposite direction.
TEST(EdgeFactorTest, AStepOfTheSecondIsTheOppositeStepOfTheFirst) {
  const Edge edge(MakeCavityScene());
  const std::vector<Value> from{edge.truth.At(KeyframeKey(0)), edge.truth.At(KeyframeKey(1))};
  Eigen::VectorXd d = Eigen::VectorXd::Zero(46);
  d.segment<7>(23) << 0.01, -0.02, 0.01, 0.02, 0.01, -0.01, 0.02;
  const Values second_moved = Moved(edge.truth, d);
  const Eigen::VectorXd step = edge.factor->StepFrom(from, second_moved);
  EXPECT_EQ(step.tail<23>().norm(), 0);
  const Values first_moved = Moved(edge.truth, step);
  const auto relative = [](const Values& v) {
    return v.Keyframe(KeyframeKey(1)).world_from_keyframe.Inverse() *
           v.Keyframe(KeyframeKey(0)).world_from_keyframe;
  };
  EXPECT_LT((relative(first_moved).Matrix() - relative(second_moved).Matrix()).norm(), 1e-12);
}

}  // namespace
}  // namespace lumen
