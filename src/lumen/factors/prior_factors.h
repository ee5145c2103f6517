// Factors that hold one variable near a goal: CD (depth code), SC (log-scale), PS (pose). The variable is
// that quantity itself, or a keyframe, of which they see that part alone.
#pragma once

#include "lumen/graph/factor.h"

namespace lumen {

// CD: L = 1/B |c − c̃|². The paper's weight is 1e-4.
class CodeFactor : public ResidualFactor {
 public:
  CodeFactor(const Key& key, Eigen::VectorXd goal, double weight = 1e-4);
  Eigen::VectorXd StepFrom(const std::vector<Value>& from, const Values& now) const override;

 protected:
  Eigen::VectorXd Residual(const Values& values, Eigen::MatrixXd* jacobian) const override;

 private:
  Eigen::VectorXd goal_;
  double root_weight_;
};

// SC: L = (log s − log s̃)². The paper's weight is 1e4 to anchor a map, 10 in the pose–scale graph. Of a
// keyframe it is the log-scale of its place, in that variable's unit.
class ScaleFactor : public ResidualFactor {
 public:
  ScaleFactor(const Key& key, double log_scale_goal, double weight = 1e4);

 protected:
  Eigen::VectorXd Residual(const Values& values, Eigen::MatrixXd* jacobian) const override;

 private:
  double goal_;
  double root_weight_;
};

// PS: L = |p − p̃|² + ω_r |log R − log R̃|² of world_from_camera. The paper's weight is 1e4.
class PoseFactor : public ResidualFactor {
 public:
  PoseFactor(const Key& key, const Rigid3& goal, double weight = 1e4, double rotation_weight = 1);

 protected:
  Eigen::VectorXd Residual(const Values& values, Eigen::MatrixXd* jacobian) const override;

 private:
  Rigid3 goal_;
  double root_weight_;
  double root_rotation_weight_;
};

// log R − log R̃ with the branch of log R that is nearer to log R̃ (they differ by a whole turn about the
// axis), so that the difference does not jump by 2π where the angle passes π. The Jacobian is by a left
// perturbation of R.
Eigen::Vector3d RotationLogDifference(const Eigen::Quaterniond& rotation, const Eigen::Quaterniond& goal,
                                      Eigen::Matrix3d* jacobian);

}  // namespace lumen
