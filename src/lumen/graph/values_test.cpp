#include "lumen/graph/values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lumen/base/error.h"
#include "lumen/base/random.h"

namespace lumen {
namespace {

Values MakeValues() {
  Values values;
  values.Insert(PoseKey(1), Rigid3(Eigen::Quaterniond(0.9, 0.1, -0.3, 0.2), {1, 2, 3}));
  values.Insert(LogScaleKey(1), 0.3);
  values.Insert(CodeKey(1), Eigen::VectorXd(Eigen::VectorXd::LinSpaced(16, -1, 1)));
  values.Insert(KeyframeKey(1), KeyframeValue{Sim3(1.7, Eigen::Quaterniond(0.9, 0.1, -0.3, 0.2), {1, 2, 3}),
                                              Eigen::VectorXd::LinSpaced(4, -1, 1)});
  return values;
}

TEST(FactorGraphValues, LocalInvertsRetractForEveryKind) {
  Random random(1);
  const Values values = MakeValues();
  for (const Key& key : values.Keys()) {
    const Value& value = values.At(key);
    const Eigen::VectorXd delta =
        Eigen::VectorXd::NullaryExpr(Dimension(value), [&] { return random.Normal(0, 0.3); });
    EXPECT_LT((Local(value, Retract(value, delta)) - delta).norm(), 1e-12) << ToString(key);
  }
}

TEST(FactorGraphValues, PosesMoveOnTheLeft) {
  const Rigid3 pose = MakeValues().Pose(PoseKey(1));
  Vector6d delta = Vector6d::Zero();
  delta[0] = 0.5;
  const Rigid3 moved = std::get<Rigid3>(Retract(Value(pose), delta));
  EXPECT_LT((moved.Translation() - pose.Translation() - Eigen::Vector3d(0.5, 0, 0)).norm(), 1e-15);
}

TEST(FactorGraphValues, KeyframesMoveInTheirOwnFrame) {
  const KeyframeValue keyframe = MakeValues().Keyframe(KeyframeKey(1));
  Eigen::VectorXd delta = Eigen::VectorXd::Zero(11);
  delta[2] = 0.5;
  const auto moved = std::get<KeyframeValue>(Retract(Value(keyframe), delta));
  const Sim3& place = keyframe.world_from_keyframe;
  EXPECT_LT((moved.world_from_keyframe.Translation() - place * Eigen::Vector3d(0, 0, 0.5)).norm(), 1e-14);
}

TEST(FactorGraphValues, KeysStandByKeyframeThenKind) {
  Values values = MakeValues();
  values.Insert(PoseKey(0), Rigid3());
  const std::vector<Key> expected{PoseKey(0), PoseKey(1), LogScaleKey(1), CodeKey(1), KeyframeKey(1)};
  EXPECT_EQ(values.Keys(), expected);
}

TEST(FactorGraphValues, RefuseWhatIsNotFiniteOrOfAnotherKindOrNotThere) {
  Values values = MakeValues();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(values.Set(LogScaleKey(1), nan), ContractError);
  EXPECT_THROW(values.Insert(PoseKey(2), Rigid3(Eigen::Quaterniond::Identity(), {0, nan, 0})), ContractError);
  EXPECT_THROW(values.Insert(CodeKey(2), Eigen::VectorXd(Eigen::VectorXd::Constant(2, nan))), ContractError);
  EXPECT_THROW(values.Insert(LogScaleKey(2), Rigid3()), ContractError);
  EXPECT_THROW(values.Insert(PoseKey(1), Rigid3()), ContractError);
  EXPECT_THROW(values.Set(PoseKey(3), Rigid3()), ContractError);
  EXPECT_THROW(values.Set(CodeKey(1), Eigen::VectorXd(Eigen::VectorXd::Zero(3))), ContractError);
  EXPECT_THROW(values.Pose(PoseKey(9)), ContractError);
  EXPECT_THROW(values.Pose(LogScaleKey(1)), ContractError);
  EXPECT_THROW(values.LogScale(PoseKey(1)), ContractError);
  EXPECT_THROW(values.Code(PoseKey(1)), ContractError);
  EXPECT_THROW(values.Keyframe(PoseKey(1)), ContractError);
  EXPECT_THROW(values.Erase(PoseKey(9)), ContractError);
  EXPECT_EQ(values.LogScale(LogScaleKey(1)), 0.3);
}

TEST(FactorGraphValues, ContractErrorsNameTheKey) {
  try {
    Values().Code(CodeKey(42));
    FAIL();
  } catch (const ContractError& error) {
    EXPECT_NE(std::string(error.what()).find("code 42"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace lumen
