#include "lumen/factors/pair_memory.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lumen/factors/feature_metric_factor.h"
#include "lumen/factors/geometric_consistency_factor.h"
#include "lumen/factors/pair_scene_test.h"
#include "lumen/geometry/sim3.h"

namespace lumen {
namespace {

constexpr double kReuse = 2e-3;

// The same factor with and without memory.
struct Twins {
  FactorPtr with_memory, fresh;
};

Twins MakeTwins(const PairScene& scene, bool feature_metric) {
  const auto make = [&](double reuse) -> FactorPtr {
    if (feature_metric) {
      FeatureMetricOptions options;
      options.reuse = {reuse, reuse, reuse};
      return std::make_shared<FeatureMetricFactor>(PairVariables::World(0, 1), scene.samples,
                                                   scene.target->frame, options);
    }
    GeometricConsistencyOptions options;
    options.reuse = {reuse, reuse, reuse};
    return std::make_shared<GeometricConsistencyFactor>(PairVariables::World(0, 1), scene.samples,
                                                        scene.target, options);
  };
  return {make(kReuse), make(0)};
}

Values StepAway(const Values& from, double size) {
  Random random(5);
  Values values = from;
  for (const Key& key : from.Keys()) {
    Eigen::VectorXd step(Dimension(from.At(key)));
    for (double& s : step) s = size * random.Uniform(-1, 1);
    values.Set(key, Retract(from.At(key), step));
  }
  return values;
}

void ExpectNear(const NormalBlock& a, const NormalBlock& b, double tolerance) {
  ASSERT_EQ(a.layout, b.layout);
  EXPECT_LT((a.H - b.H).norm(), tolerance * b.H.norm());
  EXPECT_LT((a.b - b.b).norm(), tolerance * std::max(b.b.norm(), 1e-3 * b.H.norm()));
  EXPECT_NEAR(a.error, b.error, tolerance * std::max(b.error, 1e-3));
}

class PairMemoryOf : public ::testing::TestWithParam<bool> {};

TEST_P(PairMemoryOf, GoesAlongWhenThePairMovesTurnsAndGrows) {
  const PairScene scene = MakeCavityScene();
  const Twins twins = MakeTwins(scene, GetParam());
  const Values start = StepAway(scene.TrueValues(), 0.01);
  twins.with_memory->Linearize(start);
  const Sim3 motion(1.3, Eigen::Quaterniond(Eigen::AngleAxisd(0.7, Eigen::Vector3d(1, 2, 3).normalized())),
                    Eigen::Vector3d(0.5, -2, 1));
  Values moved = start;
  for (const int id : {0, 1}) {
    moved.Set(PoseKey(id), motion.TransformPose(start.Pose(PoseKey(id))));
    moved.Set(LogScaleKey(id), start.LogScale(LogScaleKey(id)) + std::log(1.3));
  }
  const NormalBlock recalled = twins.with_memory->Linearize(moved);
  const NormalBlock fresh = twins.fresh->Linearize(moved);
  ExpectNear(recalled, fresh, 1e-4);
  EXPECT_GT((recalled.b - fresh.b).norm(), 0);  // remembered, not made anew
}

TEST_P(PairMemoryOf, FollowsItsQuadraticModelForASmallStep) {
  const PairScene scene = MakeCavityScene();
  const Twins twins = MakeTwins(scene, GetParam());
  const Values start = StepAway(scene.TrueValues(), 0.01);
  const NormalBlock before = twins.with_memory->Linearize(start);
  const Values near = StepAway(start, 4e-4);
  const NormalBlock recalled = twins.with_memory->Linearize(near);
  const NormalBlock fresh = twins.fresh->Linearize(near);
  EXPECT_LT((recalled.b - fresh.b).norm(), 0.25 * (before.b - fresh.b).norm());
  EXPECT_GT((recalled.b - fresh.b).norm(), 0);
  // What is remembered stays where it was made: many small steps do not add up unseen.
  const Values far = StepAway(start, 0.02);
  ExpectNear(twins.with_memory->Linearize(far), twins.fresh->Linearize(far), 1e-12);
}

TEST_P(PairMemoryOf, IsMadeAnewBeyondEachThreshold) {
  const PairScene scene = MakeCavityScene();
  const Values start = StepAway(scene.TrueValues(), 0.01);
  for (const Key& key : start.Keys()) {
    if (GetParam() && (key == LogScaleKey(1) || key == CodeKey(1))) continue;  // FM does not see them
    if (key == LogScaleKey(0)) continue;  // growing by itself is a move of the other parts
    const Twins twins = MakeTwins(scene, GetParam());
    twins.with_memory->Linearize(start);
    Values moved = start;
    Eigen::VectorXd step = Eigen::VectorXd::Zero(Dimension(start.At(key)));
    step[0] = 10 * kReuse;
    moved.Set(key, Retract(start.At(key), step));
    ExpectNear(twins.with_memory->Linearize(moved), twins.fresh->Linearize(moved), 1e-12);
  }
}

INSTANTIATE_TEST_SUITE_P(Factors, PairMemoryOf, ::testing::Bool(), [](const auto& which) {
  return which.param ? "FeatureMetric" : "GeometricConsistency";
});

}  // namespace
}  // namespace lumen
