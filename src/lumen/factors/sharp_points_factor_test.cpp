#include "lumen/factors/sharp_points_factor.h"

#include <gtest/gtest.h>

#include "lumen/base/random.h"
#include "lumen/geometry/numeric_jacobian.h"

namespace lumen {
namespace {

constexpr int kBases = 3;

// Keyframe 0 with points that keyframes 1 … 3 see, each in units of its own.
struct Scene {
  explicit Scene(double alpha, SharpPointsOptions factor_options = {})
      : camera(120, 120, 79.5, 63.5, alpha), options(factor_options) {
    Random random(7);
    truth.Insert(KeyframeKey(0), Place(random, source.unit, 0.05));
    for (const MapSide& target : targets)
      truth.Insert(KeyframeKey(target.id), Place(random, target.unit, 0.15));
    const Eigen::VectorXd code = truth.Keyframe(KeyframeKey(0)).code;
    const Sim3 world_from_source = truth.Keyframe(KeyframeKey(0)).world_from_keyframe;
    for (int i = 0; i < 25; ++i) {
      SharpPoint point;
      const double u = random.Uniform(20, 140);
      const double v = random.Uniform(20, 108);
      point.ray = camera.RayAtUnitDepth(u, v);
      const double depth = random.Uniform(2, 4);
      point.bases = Eigen::VectorXd::NullaryExpr(kBases, [&] { return random.Normal(0, 0.3); });
      point.average = depth - point.bases.dot(code);
      for (int j = 0; j < 3; ++j) {
        if ((i + j) % 4 == 0) continue;  // not all see all
        const Sim3& place = truth.Keyframe(targets[static_cast<size_t>(j)].GetKey()).world_from_keyframe;
        const auto pixel =
            camera.Project(place.Inverse() * (world_from_source * (depth / source.unit * point.ray)));
        Eigen::Matrix2d root;
        root << 3, 0.4, 0, 2;
        point.sightings.push_back({j, *pixel, root});
      }
      points.push_back(point);
    }
  }

  static KeyframeValue Place(Random& random, double unit, double size) {
    Vector6d d;
    for (int i = 0; i < 6; ++i) d[i] = random.Normal(0, size);
    return MakeKeyframeValue(Rigid3::Exp(d), random.Normal(0, 0.1),
                             Eigen::VectorXd::NullaryExpr(kBases, [&] { return random.Normal(0, 0.2); }),
                             unit);
  }

  SharpPointsFactor Factor() const { return {source, targets, camera, points, options}; }
  Values Moved(const Eigen::VectorXd& d) const {
    Values moved = truth;
    int row = 0;
    const SharpPointsFactor factor = Factor();
    for (const Key& key : factor.Keys()) {
      const int size = Dimension(truth.At(key));
      moved.Set(key, Retract(truth.At(key), d.segment(row, size)));
      row += size;
    }
    return moved;
  }
  static Eigen::VectorXd Step(uint64_t seed, double size) {
    Random random(seed);
    return Eigen::VectorXd::NullaryExpr(4 * (7 + kBases), [&] { return random.Normal(0, size); });
  }

  MapSide source{0, 2.5};
  std::vector<MapSide> targets{{1, 0.7}, {2, 1}, {3, 3}};
  UnifiedCamera camera;
  SharpPointsOptions options;
  std::vector<SharpPoint> points;
  Values truth;
};

class SharpPoints : public testing::TestWithParam<double> {};
INSTANTIATE_TEST_SUITE_P(Lenses, SharpPoints, testing::Values(0.0, 0.62));

TEST_P(SharpPoints, NothingIsLeftAtTheTruth) {
  const Scene scene(GetParam());
  const NormalBlock block = scene.Factor().Linearize(scene.truth);
  EXPECT_NEAR(block.error, 0, 1e-12);
  EXPECT_NEAR(block.b.norm(), 0, 1e-6);
  EXPECT_NEAR(scene.Factor().Error(scene.truth), 0, 1e-12);
  EXPECT_NEAR(scene.Factor().OwnDepth(scene.truth, 3), 0, 1e-9);
}

// The points' depths are solved for inside, so the gradient is that of the least error over them.
TEST_P(SharpPoints, GradientIsTheNumericOne) {
  const Scene scene(GetParam(), {.robust = 3});
  const SharpPointsFactor factor = scene.Factor();
  for (const uint64_t seed : {1, 2, 3}) {
    const Eigen::VectorXd at = Scene::Step(seed, 0.003);
    const Values values = scene.Moved(at);
    const auto error = [&](const Eigen::VectorXd& d) {
      Values moved = values;
      int row = 0;
      for (const Key& key : factor.Keys()) {
        const int size = Dimension(values.At(key));
        moved.Set(key, Retract(values.At(key), d.segment(row, size)));
        row += size;
      }
      return Eigen::VectorXd::Constant(1, factor.Error(moved));
    };
    const NormalBlock block = factor.Linearize(values);
    const Eigen::MatrixXd numeric = NumericJacobian(error, Eigen::VectorXd::Zero(at.size()), 1e-6);
    EXPECT_LT(RelativeError(block.b.transpose(), numeric), 1e-3);
    EXPECT_NEAR(block.error, factor.Error(values), 1e-12);
  }
}

// Without the loss's bend, H is the Hessian of that least error where residuals are small.
TEST_P(SharpPoints, HessianIsTheNumericOneNearTheTruth) {
  const Scene scene(GetParam(), {.robust = 1e3});
  const SharpPointsFactor factor = scene.Factor();
  const auto gradient = [&](const Eigen::VectorXd& d) {
    return Eigen::VectorXd(factor.Linearize(scene.Moved(d)).b);
  };
  const NormalBlock block = factor.Linearize(scene.truth);
  const Eigen::MatrixXd numeric = NumericJacobian(gradient, Eigen::VectorXd::Zero(block.b.size()), 1e-6);
  EXPECT_LT(RelativeError(block.H, numeric), 1e-3);
  EXPECT_LT((block.H - block.H.transpose()).norm(), 1e-9 * block.H.norm());
}

TEST_P(SharpPoints, SeesRelativePlacesAlone) {
  const Scene scene(GetParam());
  const Values values = scene.Moved(Scene::Step(4, 0.01));
  const SharpPointsFactor factor = scene.Factor();
  Vector7d d;
  d << 0.4, -1, 2, 0.5, 0.3, -0.7, 0.6;
  Values all = values;
  std::vector<Value> from;
  for (const Key& key : factor.Keys()) {
    const KeyframeValue& value = values.Keyframe(key);
    from.push_back(value);
    all.Set(key, KeyframeValue{Sim3::Exp(d) * value.world_from_keyframe, value.code});
  }
  EXPECT_NEAR(factor.Error(all), factor.Error(values), 1e-9 * factor.Error(values));
  EXPECT_LT(factor.StepFrom(from, all).norm(), 1e-9);
}

// Points whose basis says another depth keep one of their own: the path does not bend for them.
TEST(SharpPointsFactorTest, WrongDepthsOfTheBasisDoNotMoveThePath) {
  Scene scene(0);
  scene.options.depth_weight = 1e-6;
  for (SharpPoint& point : scene.points) point.average *= 1.1;
  const SharpPointsFactor factor = scene.Factor();
  EXPECT_LT(factor.Error(scene.truth), 1e-5);
  EXPECT_LT(factor.OwnDepth(scene.truth, 0), -0.05);
}

TEST(SharpPointsFactorTest, OutliersHaveLittlePull) {
  Scene scene(0);
  const double clean = scene.Factor().Linearize(scene.Moved(Scene::Step(5, 0.003))).b.norm();
  scene.points[0].sightings[0].pixel += Eigen::Vector2d(60, -80);
  const double with = scene.Factor().Linearize(scene.Moved(Scene::Step(5, 0.003))).b.norm();
  EXPECT_LT(with, 1.5 * clean);
}

TEST(SharpPointsFactorTest, StaysFiniteWhereverKeyframesAre) {
  const Scene scene(0);
  for (const uint64_t seed : {1, 2, 3, 4}) {
    const Values wild = scene.Moved(Scene::Step(seed, 1.5));
    EXPECT_TRUE(std::isfinite(scene.Factor().Error(wild)));
    EXPECT_TRUE(scene.Factor().Linearize(wild).IsFinite());
  }
}

TEST(SharpPointsFactorTest, BreaksTheContractOnNonsense) {
  Scene scene(0);
  EXPECT_THROW(SharpPointsFactor(scene.source, scene.targets, scene.camera, {}), ContractError);
  scene.points[0].sightings[0].target = 3;
  EXPECT_THROW(scene.Factor(), ContractError);
  scene.points[0].sightings[0].target = 0;
  scene.points[0].average = 0;
  EXPECT_THROW(scene.Factor(), ContractError);
  scene.points[0].average = 1;
  scene.targets[1].id = 0;  // the source itself
  EXPECT_THROW(scene.Factor(), ContractError);
}

}  // namespace
}  // namespace lumen
