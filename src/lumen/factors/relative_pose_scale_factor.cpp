#include "lumen/factors/relative_pose_scale_factor.h"

#include <cmath>

#include "lumen/base/error.h"
#include "lumen/factors/prior_factors.h"

namespace lumen {

void RelativePoseScaleOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("weight", weight, {.min = 0, .help = "weight of the factor"});
  visitor.Field("rotation_weight", rotation_weight, {.min = 0, .help = "ω_rot"});
  visitor.Field("scale_weight", scale_weight, {.min = 0, .help = "ω_scl"});
}

RelativePoseScaleFactor::RelativePoseScaleFactor(const PairVariables& variables,
                                                 const RelativePoseScaleGoal& goal,
                                                 const RelativePoseScaleOptions& options)
    : Factor(variables.WithoutCodes().Keys()),
      variables_(variables.WithoutCodes()),
      goal_(goal),
      options_(options) {
  LUMEN_CHECK(IsFinite(Value(goal.target_from_source)) && std::isfinite(goal.source_log_scale) &&
              std::isfinite(goal.target_log_scale));
}

Vector7d RelativePoseScaleFactor::Residual(const PairState& state,
                                           Eigen::Matrix<double, 7, kCodes>* jacobian) const {
  const double root = std::sqrt(options_.weight);
  const double root_rotation = std::sqrt(options_.weight * options_.rotation_weight);
  const double root_scale = std::sqrt(options_.weight * options_.scale_weight);
  const double inverse_scale = std::exp(-state.source_log_scale);
  const Eigen::Vector3d t = inverse_scale * state.target_from_source.Translation();
  Eigen::Matrix3d log_by_rotation;
  Vector7d residual;
  residual.head<3>() =
      root * (t - std::exp(-goal_.source_log_scale) * goal_.target_from_source.Translation());
  residual.segment<3>(3) =
      root_rotation * RotationLogDifference(state.target_from_source.Rotation(),
                                            goal_.target_from_source.Rotation(), &log_by_rotation);
  residual[6] = root_scale * (state.target_log_scale - state.source_log_scale -
                              (goal_.target_log_scale - goal_.source_log_scale));
  if (jacobian != nullptr) {
    jacobian->setZero();
    jacobian->block<3, 3>(0, 0) = root * inverse_scale * Eigen::Matrix3d::Identity();
    jacobian->block<3, 3>(0, 3) = -root * Hat(t);
    jacobian->block<3, 1>(0, kSourceScale) = -root * t;  // d e^{-σ} t / dσ, at the current t
    jacobian->block<3, 3>(3, 3) = root_rotation * log_by_rotation;
    (*jacobian)(6, kSourceScale) = -root_scale;
    (*jacobian)(6, kTargetScale) = root_scale;
  }
  return residual;
}

double RelativePoseScaleFactor::Error(const Values& values) const {
  return 0.5 * Residual(variables_.Resolve(values), nullptr).squaredNorm();
}

NormalBlock RelativePoseScaleFactor::Linearize(const Values& values) const {
  Eigen::Matrix<double, 7, kCodes> jacobian;
  const Vector7d residual = Residual(variables_.Resolve(values), &jacobian);
  PairSystem system(kCodes);
  system.Add(residual, jacobian, 1.0);
  return variables_.Expand(system, values);
}

}  // namespace lumen
