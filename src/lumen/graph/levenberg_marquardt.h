// Levenberg–Marquardt over a factor graph, with the damping range, multipliers, Jacobian reuse rule and
// stopping criteria of the paper's supplement (camera tracking). The summary says why it stopped.
#pragma once

#include <array>
#include <string>

#include "lumen/base/config.h"
#include "lumen/graph/factor.h"
#include "lumen/graph/step_thresholds.h"

namespace lumen {

struct LevenbergMarquardtOptions {
  int max_iterations = 40;
  double initial_damping = 1e-4;
  double min_damping = 1e-6;
  double max_damping = 1e-2;
  double damping_increase = 100;
  double damping_decrease = 10;
  // After a step that changed the error by less than this share, the linearisation is kept: H stays and
  // the gradient follows the quadratic model. 0 linearises after every step.
  double reuse_error_change = 1e-2;
  double gradient_tolerance = 1e-4;
  double step_ratio_tolerance = 1e-2;
  // Stop once this many steps in a row moved no variable beyond its threshold; 0 switches that off.
  int settled_steps = 0;
  StepThresholds settled_thresholds;
  int threads = 1;

  void Describe(ConfigVisitor& visitor);
};

enum class StopReason {
  kNothingToSolve,  // no factors, or none of them has anything to say (no residual took part)
  kMaxIterations,
  kGradientSmall,
  kStepSmall,
  kSettled,
  kNoDecrease,  // the largest damping allowed brings no lower error
  kSingular,    // the largest damping allowed does not make the system solvable
};

std::string ToString(StopReason reason);

struct LevenbergMarquardtSummary {
  StopReason reason = StopReason::kNothingToSolve;
  int iterations = 0;
  int accepted = 0;
  int linearizations = 0;
  double initial_error = 0;
  double final_error = 0;
  double final_gradient = 0;  // largest entry
  int64_t count = 0;          // residuals that took part at the last linearisation

  bool Converged() const {
    return reason == StopReason::kGradientSmall || reason == StopReason::kStepSmall ||
           reason == StopReason::kSettled;
  }
};

// Moves the values the factors touch; every step that is kept lowered the error.
LevenbergMarquardtSummary MinimizeLevenbergMarquardt(const FactorGraph& factors,
                                                     const LevenbergMarquardtOptions& options,
                                                     Values& values);

}  // namespace lumen
