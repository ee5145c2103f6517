#include "lumen/factors/prior_factors.h"

#include <cmath>

#include "lumen/base/error.h"

namespace lumen {

namespace {
double RootOfWeight(double weight) {
  LUMEN_CHECK(weight >= 0 && std::isfinite(weight), "a weight of ", weight);
  return std::sqrt(weight);
}
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
  const Eigen::VectorXd& code = values.Code(Keys()[0]);
  LUMEN_CHECK(code.size() == goal_.size(), code.size(), " codes, goal has ", goal_.size());
  if (jacobian != nullptr) *jacobian = root_weight_ * Eigen::MatrixXd::Identity(code.size(), code.size());
  return root_weight_ * (code - goal_);
}

ScaleFactor::ScaleFactor(const Key& key, double log_scale_goal, double weight)
    : ResidualFactor({key}), goal_(log_scale_goal), root_weight_(RootOfWeight(weight)) {
  LUMEN_CHECK(std::isfinite(goal_));
}

Eigen::VectorXd ScaleFactor::Residual(const Values& values, Eigen::MatrixXd* jacobian) const {
  if (jacobian != nullptr) *jacobian = Eigen::MatrixXd::Constant(1, 1, root_weight_);
  return Eigen::VectorXd::Constant(1, root_weight_ * (values.LogScale(Keys()[0]) - goal_));
}

PoseFactor::PoseFactor(const Key& key, const Rigid3& goal, double weight, double rotation_weight)
    : ResidualFactor({key}),
      goal_(goal),
      root_weight_(RootOfWeight(weight)),
      root_rotation_weight_(RootOfWeight(weight * rotation_weight)) {
  LUMEN_CHECK(IsFinite(Value(goal)));
}

Eigen::VectorXd PoseFactor::Residual(const Values& values, Eigen::MatrixXd* jacobian) const {
  const Rigid3& pose = values.Pose(Keys()[0]);
  Eigen::Matrix3d log_by_rotation;
  Vector6d residual;
  residual.head<3>() = root_weight_ * (pose.Translation() - goal_.Translation());
  residual.tail<3>() =
      root_rotation_weight_ * RotationLogDifference(pose.Rotation(), goal_.Rotation(), &log_by_rotation);
  if (jacobian != nullptr) {
    // A left perturbation (v, w) moves the position by v + w × p.
    jacobian->setZero(6, 6);
    jacobian->topLeftCorner<3, 3>() = root_weight_ * Eigen::Matrix3d::Identity();
    jacobian->topRightCorner<3, 3>() = -root_weight_ * Hat(pose.Translation());
    jacobian->bottomRightCorner<3, 3>() = root_rotation_weight_ * log_by_rotation;
  }
  return residual;
}

}  // namespace lumen
