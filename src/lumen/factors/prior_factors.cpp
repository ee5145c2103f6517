#include "lumen/factors/prior_factors.h"

#include <cmath>

#include "lumen/base/error.h"

namespace lumen {

namespace {
double RootOfWeight(double weight) {
  LUMEN_CHECK(weight >= 0 && std::isfinite(weight), "a weight of ", weight);
  return std::sqrt(weight);
}

bool IsKeyframe(const Key& key) { return key.kind == KeyKind::kKeyframe; }
}  // namespace

Eigen::Vector3d RotationLogDifference(const Eigen::Quaterniond& rotation, const Eigen::Quaterniond& goal,
                                      Eigen::Matrix3d* jacobian) {
  const Eigen::Vector3d goal_log = LogSO3(goal);
  Eigen::Vector3d log = LogSO3(rotation);
  const double angle = log.norm();
  if (angle > 0.5 * M_PI) {
    const Eigen::Vector3d other_branch = log * (1 - 2 * M_PI / angle);
    if ((other_branch - goal_log).squaredNorm() < (log - goal_log).squaredNorm()) log = other_branch;
  }
  if (jacobian != nullptr) *jacobian = InverseLeftJacobianSO3(log);
  return log - goal_log;
}

CodeFactor::CodeFactor(const Key& key, Eigen::VectorXd goal, double weight)
    : ResidualFactor({key}),
      goal_(std::move(goal)),
      root_weight_(RootOfWeight(weight / static_cast<double>(goal_.size()))) {
  LUMEN_CHECK(goal_.allFinite());
}

Eigen::VectorXd CodeFactor::Residual(const Values& values, Eigen::MatrixXd* jacobian) const {
  const Key& key = Keys()[0];
  const Eigen::VectorXd& code = IsKeyframe(key) ? values.Keyframe(key).code : values.Code(key);
  LUMEN_CHECK(code.size() == goal_.size(), code.size(), " codes, goal has ", goal_.size());
  if (jacobian != nullptr) {
    jacobian->setZero(code.size(), Dimension(values.At(key)));
    jacobian->rightCols(code.size()).diagonal().setConstant(root_weight_);
  }
  return root_weight_ * (code - goal_);
}

Eigen::VectorXd CodeFactor::StepFrom(const std::vector<Value>& from, const Values& now) const {
  Eigen::VectorXd step = Factor::StepFrom(from, now);
  step.head(step.size() - goal_.size()).setZero();
  return step;
}

ScaleFactor::ScaleFactor(const Key& key, double log_scale_goal, double weight)
    : ResidualFactor({key}), goal_(log_scale_goal), root_weight_(RootOfWeight(weight)) {
  LUMEN_CHECK(std::isfinite(goal_));
}

Eigen::VectorXd ScaleFactor::Residual(const Values& values, Eigen::MatrixXd* jacobian) const {
  const Key& key = Keys()[0];
  const double log_scale =
      IsKeyframe(key) ? std::log(values.Keyframe(key).world_from_keyframe.Scale()) : values.LogScale(key);
  if (jacobian != nullptr) {
    jacobian->setZero(1, Dimension(values.At(key)));
    (*jacobian)(0, IsKeyframe(key) ? 6 : 0) = root_weight_;
  }
  return Eigen::VectorXd::Constant(1, root_weight_ * (log_scale - goal_));
}

PoseFactor::PoseFactor(const Key& key, const Rigid3& goal, double weight, double rotation_weight)
    : ResidualFactor({key}),
      goal_(goal),
      root_weight_(RootOfWeight(weight)),
      root_rotation_weight_(RootOfWeight(weight * rotation_weight)) {
  LUMEN_CHECK(IsFinite(Value(goal)));
}

Eigen::VectorXd PoseFactor::Residual(const Values& values, Eigen::MatrixXd* jacobian) const {
  const Key& key = Keys()[0];
  Sim3 place;
  if (IsKeyframe(key)) {
    place = values.Keyframe(key).world_from_keyframe;
  } else {
    place = Sim3(values.Pose(key));
  }
  Eigen::Matrix3d log_by_rotation;
  Vector6d residual;
  residual.head<3>() = root_weight_ * (place.Translation() - goal_.Translation());
  residual.tail<3>() =
      root_rotation_weight_ * RotationLogDifference(place.Rotation(), goal_.Rotation(), &log_by_rotation);
  if (jacobian == nullptr) return residual;
  jacobian->setZero(6, Dimension(values.At(key)));
  if (IsKeyframe(key)) {  // in its own frame: the position moves by s R v, the rotation by R w
    const Eigen::Matrix3d rotation = place.Rotation().toRotationMatrix();
    jacobian->block<3, 3>(0, 0) = root_weight_ * place.Scale() * rotation;
    jacobian->block<3, 3>(3, 3) = root_rotation_weight_ * log_by_rotation * rotation;
  } else {  // a left perturbation (v, w) moves the position by v + w × p
    jacobian->block<3, 3>(0, 0) = root_weight_ * Eigen::Matrix3d::Identity();
    jacobian->block<3, 3>(0, 3) = -root_weight_ * Hat(place.Translation());
    jacobian->block<3, 3>(3, 3) = root_rotation_weight_ * log_by_rotation;
  }
  return residual;
}

}  // namespace lumen
