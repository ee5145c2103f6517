#include "lumen/graph/levenberg_marquardt.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"
#include "lumen/graph/normal_system.h"

namespace lumen {

void LevenbergMarquardtOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("max_iterations", max_iterations, {.min = 1, .max = 10000, .help = "steps tried at most"});
  visitor.Field("initial_damping", initial_damping, {.min = 0, .help = "first damping, times diag(H)"});
  visitor.Field("min_damping", min_damping, {.min = 0, .help = "smallest damping"});
  visitor.Field("max_damping", max_damping, {.min = 0, .help = "largest damping"});
  visitor.Field("damping_increase", damping_increase, {.min = 1, .help = "factor after a rejected step"});
  visitor.Field("damping_decrease", damping_decrease, {.min = 1, .help = "divisor after an accepted step"});
  visitor.Field(
      "reuse_error_change", reuse_error_change,
      {.min = 0, .max = 1, .help = "keep the Jacobian if the error changed by less than this share"});
  visitor.Field("gradient_tolerance", gradient_tolerance, {.min = 0, .help = "stop below this gradient"});
  visitor.Field("step_ratio_tolerance", step_ratio_tolerance,
                {.min = 0, .help = "stop when every variable moves by less than this share of its size"});
  visitor.Field("settled_steps", settled_steps,
                {.min = 0, .help = "stop after so many steps below settled_thresholds; 0: never"});
  visitor.Group("settled_thresholds", settled_thresholds);
  visitor.Field("threads", threads, {.min = 1, .max = 256, .help = "threads that evaluate factors"});
}

namespace {
constexpr const char* kReasonNames[] = {
    "nothing to solve", "maximum of iterations", "gradient small", "step small",
    "settled",          "no decrease",           "singular"};
}  // namespace

std::string ToString(StopReason reason) { return kReasonNames[static_cast<size_t>(reason)]; }

namespace {

// Steps are compared with a variable's size; below this size with the size itself.
constexpr double kSmallestSize = 1e-3;

double SizeOf(const Value& value) {
  if (const auto* pose = std::get_if<Rigid3>(&value)) return pose->Log().norm();
  if (std::holds_alternative<double>(value)) return 1.0;         // ds / s = dσ
  if (std::holds_alternative<KeyframeValue>(value)) return 1.0;  // its steps are in its own unit
  return std::get<Eigen::VectorXd>(value).norm();
}

class Minimizer {
 public:
  Minimizer(const FactorGraph& factors, const LevenbergMarquardtOptions& options, Values& values)
      : factors_(factors), options_(options), values_(values), system_(factors, values) {
    damping_ = options.initial_damping;
    Linearize();
    summary_.initial_error = error_;
  }

  LevenbergMarquardtSummary Run() {
    while (!Finished()) {
      if (linearization_is_old_) Linearize();
      if (GradientIsSmall()) break;
      ++summary_.iterations;
      if (ComputeStep() && StepLowersError()) {
        AcceptStep();
      } else {
        RejectStep();
      }
    }
    summary_.final_error = error_;
    summary_.final_gradient = system_.Gradient().size() == 0 ? 0 : system_.Gradient().cwiseAbs().maxCoeff();
    return summary_;
  }

 private:
  void Stop(StopReason reason) {
    summary_.reason = reason;
    finished_ = true;
  }

  bool Finished() {
    if (!finished_ && summary_.count == 0) Stop(StopReason::kNothingToSolve);
    if (!finished_ && summary_.iterations >= options_.max_iterations) Stop(StopReason::kMaxIterations);
    return finished_;
  }

  void Linearize() {
    const std::vector<NormalBlock> blocks = LinearizeAll(factors_, values_, options_.threads);
    LUMEN_CHECK(AllFinite(blocks), "a factor gave numbers that are not finite");
    system_.Assemble(blocks);
    error_ = system_.Error();
    error_at_linearization_ = error_;
    summary_.count = system_.Count();
    ++summary_.linearizations;
    linearization_is_old_ = false;
    is_reused_ = false;
  }

  bool GradientIsSmall() {
    if (system_.Gradient().cwiseAbs().maxCoeff() > options_.gradient_tolerance) return false;
    Stop(StopReason::kGradientSmall);
    return true;
  }

  bool ComputeStep() {
    const auto step = system_.Solve(damping_);
    is_solvable_ = step.has_value();
    if (is_solvable_) step_ = *step;
    return is_solvable_;
  }

  bool StepLowersError() {
    trial_ = values_;
    const BlockLayout& layout = system_.Layout();
    for (int i = 0; i < layout.Size(); ++i) {
      const Key& key = layout.Keys()[static_cast<size_t>(i)];
      Value moved = Retract(trial_.At(key), step_.segment(layout.Offset(i), layout.Dimension(i)));
      if (!IsFinite(moved)) return false;
      trial_.Set(key, std::move(moved));
    }
    trial_error_ = TotalError(factors_, trial_, options_.threads);
    return trial_error_ < error_;
  }

  void AcceptStep() {
    const bool is_small = StepIsSmall();
    const bool is_settled = StepIsSettled();
    values_ = std::move(trial_);
    error_ = trial_error_;
    ++summary_.accepted;
    damping_ = std::max(damping_ / options_.damping_decrease, options_.min_damping);
    linearization_is_old_ =
        std::abs(error_ - error_at_linearization_) > options_.reuse_error_change * error_at_linearization_ ||
        options_.reuse_error_change == 0;
    is_reused_ = !linearization_is_old_;
    if (is_reused_) system_.AdvanceGradient(step_);
    if (is_small) Stop(StopReason::kStepSmall);
    if (!finished_ && is_settled) Stop(StopReason::kSettled);
  }

  void RejectStep() {
    // The kept linearisation may be what failed: look afresh before blaming the step's length.
    if (is_reused_) {
      linearization_is_old_ = true;
      return;
    }
    if (damping_ >= options_.max_damping) {
      // A step too small to be seen in the error is no failure: there is nothing left to gain.
      if (is_solvable_ && StepIsSmall()) return Stop(StopReason::kStepSmall);
      return Stop(is_solvable_ ? StopReason::kNoDecrease : StopReason::kSingular);
    }
    damping_ = std::min(damping_ * options_.damping_increase, options_.max_damping);
  }

  // Calls test(kind, step, size) for each variable; true if all are.
  template <typename Test>
  bool AllSteps(const Test& test) const {
    const BlockLayout& layout = system_.Layout();
    for (int i = 0; i < layout.Size(); ++i) {
      const Key& key = layout.Keys()[static_cast<size_t>(i)];
      if (!test(key, step_.segment(layout.Offset(i), layout.Dimension(i)))) return false;
    }
    return true;
  }

  bool StepIsSmall() const {
    return AllSteps([&](const Key& key, const auto& step) {
      return step.norm() <= options_.step_ratio_tolerance * std::max(SizeOf(values_.At(key)), kSmallestSize);
    });
  }

  bool StepIsSettled() {
    if (options_.settled_steps == 0) return false;
    const bool is_below = AllSteps([&](const Key& key, const auto& step) {
      return options_.settled_thresholds.Share(key.kind, step) <= 1;
    });
    settled_in_a_row_ = is_below ? settled_in_a_row_ + 1 : 0;
    return settled_in_a_row_ >= options_.settled_steps;
  }

  const FactorGraph& factors_;
  const LevenbergMarquardtOptions& options_;
  Values& values_;
  NormalSystem system_;
  LevenbergMarquardtSummary summary_;
  Values trial_;
  Eigen::VectorXd step_;
  double error_ = 0;
  double error_at_linearization_ = 0;
  double trial_error_ = 0;
  double damping_ = 0;
  int settled_in_a_row_ = 0;
  bool linearization_is_old_ = false;
  bool is_reused_ = false;
  bool is_solvable_ = false;
  bool finished_ = false;
};

}  // namespace

LevenbergMarquardtSummary MinimizeLevenbergMarquardt(const FactorGraph& factors,
                                                     const LevenbergMarquardtOptions& options,
                                                     Values& values) {
  return Minimizer(factors, options, values).Run();
}

}  // namespace lumen
