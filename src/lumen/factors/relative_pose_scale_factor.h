// RPS: keeps a pair's relative pose, measured in the source's scale, and its ratio of scales:
//   L = |t/s_src − t̃/s̃_src|² + ω_rot |log R − log R̃|² + ω_scl (log s_tgt/s_src − log s̃_tgt/s̃_src)²
// with (R, t) = target_from_source. Scaling the whole pair changes nothing.
#pragma once

#include "lumen/base/config.h"
#include "lumen/factors/pair_variables.h"

namespace lumen {

struct RelativePoseScaleOptions {
  double weight = 1;  // the paper's: 1 for ordinary connections, 5 for global loops
  double rotation_weight = 5;
  double scale_weight = 0.5;

  void Describe(ConfigVisitor& visitor);
};

struct RelativePoseScaleGoal {
  Rigid3 target_from_source;
  double source_log_scale = 0;
  double target_log_scale = 0;
};

class RelativePoseScaleFactor : public Factor {
 public:
  RelativePoseScaleFactor(const PairVariables& variables, const RelativePoseScaleGoal& goal,
                          const RelativePoseScaleOptions& options = {});

  double Error(const Values& values) const override;
  NormalBlock Linearize(const Values& values) const override;

 private:
  Vector7d Residual(const PairState& state, Eigen::Matrix<double, 7, kCodes>* jacobian) const;

  PairVariables variables_;
  RelativePoseScaleGoal goal_;
  RelativePoseScaleOptions options_;
};

}  // namespace lumen
