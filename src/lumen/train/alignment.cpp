#include "lumen/train/alignment.h"

#include "lumen/base/error.h"

namespace lumen {

namespace {

// The damped step, in double: the normal equations of a nearly flat scene leave floats few digits.
torch::Tensor SolveStep(const AlignmentSystem& system, const torch::Tensor& damping) {
  const torch::Tensor H = system.H.to(torch::kDouble);
  const torch::Tensor b = system.b.to(torch::kDouble);
  const torch::Tensor diagonal = H.diagonal(0, 1, 2);
  const torch::Tensor damped =
      H + torch::diag_embed(damping.to(torch::kDouble).unsqueeze(1) * diagonal + 1e-9);
  torch::Tensor good;
  {
    torch::NoGradGuard no_grad;
    const auto [factor, info] = torch::linalg_cholesky_ex(damped, false, false);
    good = (info.eq(0) * torch::isfinite(factor).flatten(1).all(1)).view({-1, 1, 1});
  }
  // A pair that cannot be solved takes no step, and its numbers reach nobody's gradient.
  const torch::Tensor safe_H = torch::where(good, damped, torch::eye(H.size(1), H.options()).expand_as(H));
  const torch::Tensor safe_b = torch::where(good, b.unsqueeze(2), torch::zeros_like(b).unsqueeze(2));
  const torch::Tensor factor = std::get<0>(torch::linalg_cholesky_ex(safe_H, false, false));
  return -torch::cholesky_solve(safe_b, factor).squeeze(2).to(system.b.dtype());
}

AlignmentState MaskStep(const AlignmentState& state, const torch::Tensor& step, const torch::Tensor& accept) {
  return RetractState(state, torch::where(accept.unsqueeze(1), step, torch::zeros_like(step)));
}

std::vector<torch::Tensor> PackInputs(const AlignmentProblem& problem, const AlignmentState& state) {
  std::vector<torch::Tensor> inputs = {
      state.rotation, state.translation,     state.log_scale,     state.code,        problem.average,
      problem.bases,  problem.match_average, problem.match_bases, problem.scale_goal};
  inputs.insert(inputs.end(), problem.source_features.begin(), problem.source_features.end());
  inputs.insert(inputs.end(), problem.target_features.begin(), problem.target_features.end());
  return inputs;
}

void UnpackInputs(const std::vector<torch::Tensor>& inputs, AlignmentProblem& problem,
                  AlignmentState& state) {
  state = {inputs[0], inputs[1], inputs[2], inputs[3]};
  problem.average = inputs[4];
  problem.bases = inputs[5];
  problem.match_average = inputs[6];
  problem.match_bases = inputs[7];
  problem.scale_goal = inputs[8];
  constexpr size_t kFirstLevel = 9;
  const size_t levels = problem.source_features.size();
  for (size_t l = 0; l < levels; ++l) {
    problem.source_features[l] = inputs[kFirstLevel + l];
    problem.target_features[l] = inputs[kFirstLevel + levels + l];
  }
}

// What a checkpointed step needs on its way back.
struct StepRecord : torch::CustomClassHolder {
  AlignmentProblem problem;
  AlignmentOptions options;
  torch::Tensor damping, accept;
  AlignmentState after;       // already known from the decision
  std::vector<bool> learned;  // inputs that a gradient is wanted of
};

std::vector<torch::Tensor> RunStep(const StepRecord& record, const std::vector<torch::Tensor>& inputs) {
  AlignmentProblem problem = record.problem;
  AlignmentState state;
  UnpackInputs(inputs, problem, state);
  const AlignmentSystem system = LinearizeAlignment(problem, state, record.options);
  const AlignmentState next = MaskStep(state, SolveStep(system, record.damping), record.accept);
  return {next.rotation, next.translation, next.log_scale, next.code};
}

// Keeps the inputs only; the way back computes the step again with a graph of its own.
class CheckpointedStep : public torch::autograd::Function<CheckpointedStep> {
 public:
  static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context,
                                                const c10::intrusive_ptr<StepRecord>& record,
                                                const torch::TensorList& inputs) {
    context->save_for_backward(inputs.vec());
    context->saved_data["record"] = c10::IValue::make_capsule(record);
    return {record->after.rotation.clone(), record->after.translation.clone(),
            record->after.log_scale.clone(), record->after.code.clone()};
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const auto record =
        c10::static_intrusive_pointer_cast<StepRecord>(context->saved_data["record"].toCapsule());
    const torch::autograd::variable_list saved = context->get_saved_variables();
    std::vector<torch::Tensor> inputs;
    torch::autograd::variable_list wanted;
    for (size_t i = 0; i < saved.size(); ++i) {
      inputs.push_back(saved[i].detach().set_requires_grad(record->learned[i]));
      if (record->learned[i]) wanted.push_back(inputs.back());
    }
    torch::autograd::variable_list all, outputs, given;
    {
      const torch::AutoGradMode with_graph(true);
      all = RunStep(*record, inputs);
    }
    for (size_t i = 0; i < all.size(); ++i) {
      if (!all[i].requires_grad() || !gradients[i].defined()) continue;
      outputs.push_back(all[i]);
      given.push_back(gradients[i]);
    }
    torch::autograd::variable_list by_inputs(1 + saved.size());  // the first is the record's
    if (outputs.empty()) return by_inputs;
    const torch::autograd::variable_list found =
        torch::autograd::grad(outputs, wanted, given, {}, false, true);
    for (size_t i = 0, next = 0; i < saved.size(); ++i) {
      if (record->learned[i]) by_inputs[1 + i] = found[next++];
    }
    return by_inputs;
  }
};

struct StepDecision {
  torch::Tensor damping, accept;
  AlignmentState after;
};

AlignmentState TakeCheckpointedStep(const AlignmentProblem& problem, const AlignmentState& state,
                                    const StepDecision& decision, const AlignmentOptions& options) {
  auto record = c10::make_intrusive<StepRecord>();
  record->problem = problem;
  record->options = options;
  record->damping = decision.damping;
  record->accept = decision.accept;
  record->after = decision.after;
  const std::vector<torch::Tensor> inputs = PackInputs(problem, state);
  // The record must not keep the graph of its inputs alive: it holds constants, the rest comes in `inputs`.
  std::vector<torch::Tensor> loose;
  for (const torch::Tensor& tensor : inputs) {
    loose.push_back(tensor.detach());
    record->learned.push_back(tensor.requires_grad());
  }
  AlignmentState unused;
  UnpackInputs(loose, record->problem, unused);
  const std::vector<torch::Tensor> after = CheckpointedStep::apply(record, torch::TensorList(inputs));
  return {after[0], after[1], after[2], after[3]};
}

}  // namespace

void AlignmentOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("level_weights", level_weights, {.min = 0, .help = "FM: weight of each level, finest first"});
  visitor.Field(
      "robust", robust,
      {.min = 0, .help = "FM: share of the features' variance beyond which a difference counts less"});
  visitor.Field("relative", relative, {.help = "FM: measured in the features' own variance"});
  visitor.Field("matched_weight", matched_weight, {.min = 0, .help = "SMG: weight"});
  visitor.Field("matched_sigma", matched_sigma,
                {.min = 1e-9, .help = "SMG: threshold in mean squared depths"});
  visitor.Field("geometry_weight", geometry_weight, {.min = 0, .help = "GC: weight"});
  visitor.Field("geometry_sigma", geometry_sigma,
                {.min = 1e-9, .help = "GC: threshold in mean squared depths"});
  visitor.Field("reprojection_weight", reprojection_weight, {.min = 0, .help = "RP: weight while placing"});
  visitor.Field("reprojection_sigma", reprojection_sigma,
                {.min = 1e-9, .help = "RP: threshold in squared picture widths"});
  visitor.Field("shaping_reprojection", shaping_reprojection,
                {.min = 0, .help = "RP: weight while shaping, where SMG and GC are off"});
  visitor.Field("shaping_scale_prior", shaping_scale_prior, {.min = 0, .help = "SC: weight while shaping"});
  visitor.Field("scale_prior_weight", scale_prior_weight, {.min = 0, .help = "SC: weight"});
  visitor.Field("code_prior_weight", code_prior_weight, {.min = 0, .help = "CD: weight"});
  visitor.Field("relative_code", relative_code, {.help = "CD: on the share of the depth that codes add"});
  visitor.Field("code_is_free", code_is_free, {.help = "estimate the code too"});
  visitor.Field("placing_iterations", placing_iterations,
                {.min = 0, .max = 100, .help = "iterations over all levels with the code held"});
  visitor.Field("iterations", iterations,
                {.min = 1, .max = 100, .help = "iterations over the finest levels with the code free"});
  visitor.Field("finest_levels", finest_levels, {.min = 0, .max = 8, .help = "finest levels; 0: all"});
  visitor.Field("initial_damping", initial_damping, {.min = 0, .help = "first damping"});
  visitor.Field("min_damping", min_damping, {.min = 0, .help = "least damping"});
  visitor.Field("max_damping", max_damping, {.min = 0, .help = "largest damping"});
  visitor.Field("damping_increase", damping_increase, {.min = 1, .help = "factor after a rejected step"});
  visitor.Field("damping_decrease", damping_decrease, {.min = 1, .help = "divisor after an accepted step"});
  visitor.Field("gradient_tolerance", gradient_tolerance,
                {.min = 0, .help = "a pair is done below this gradient"});
  visitor.Field("step_tolerance", step_tolerance, {.min = 0, .help = "a pair is done below this step"});
  visitor.Field("checkpointing", checkpointing,
                {.help = "compute steps again on the way back instead of keeping them"});
}

AlignmentState RetractState(const AlignmentState& state, const torch::Tensor& step) {
  const torch::Tensor v = step.slice(1, 0, 3).unsqueeze(2);
  const torch::Tensor w = step.slice(1, 3, 6);
  const torch::Tensor squared = w.square().sum(1);
  const torch::Tensor small = squared.lt(1e-6);
  const torch::Tensor safe = torch::where(small, torch::ones_like(squared), squared);
  const torch::Tensor angle = torch::sqrt(safe);
  const auto choose = [&](const torch::Tensor& series, const torch::Tensor& exact) {
    return torch::where(small, series, exact).view({-1, 1, 1});
  };
  const torch::Tensor a = choose(1 - squared / 6, torch::sin(angle) / angle);
  const torch::Tensor b = choose(0.5 - squared / 24, (1 - torch::cos(angle)) / safe);
  const torch::Tensor c = choose(1.0 / 6 - squared / 120, (angle - torch::sin(angle)) / (safe * angle));
  const torch::Tensor zero = torch::zeros_like(squared);
  const auto part = [&](int k) { return w.select(1, k); };
  const torch::Tensor W =
      torch::stack({torch::stack({zero, -part(2), part(1)}, 1), torch::stack({part(2), zero, -part(0)}, 1),
                    torch::stack({-part(1), part(0), zero}, 1)},
                   1);
  const torch::Tensor W2 = torch::matmul(W, W);
  const torch::Tensor one = torch::eye(3, step.options()).unsqueeze(0);
  const torch::Tensor R = one + a * W + b * W2;
  const torch::Tensor V = one + b * W + c * W2;
  return {torch::matmul(R, state.rotation),
          (torch::matmul(R, state.translation.unsqueeze(2)) + torch::matmul(V, v)).squeeze(2),
          state.log_scale + step.select(1, 6), step.size(1) > 7 ? state.code + step.slice(1, 7) : state.code};
}

namespace {

// One run of iterations from where `result` stands.
void Minimize(const AlignmentProblem& problem, const AlignmentOptions& options, AlignmentResult& result) {
  const auto batch = result.state.log_scale.size(0);
  torch::Tensor damping = torch::full_like(result.state.log_scale.detach(), options.initial_damping);
  torch::Tensor active = torch::ones({batch}, damping.options().dtype(torch::kBool));
  for (int iteration = 0; iteration < options.iterations; ++iteration) {
    const torch::Tensor used_damping = damping;
    // Without checkpoints one linearisation serves the decision and, with its graph, the step.
    const bool keep_graph = torch::GradMode::is_enabled() && !options.checkpointing;
    torch::Tensor step, error_before, largest_gradient;
    {
      const torch::AutoGradMode mode(keep_graph);
      const AlignmentSystem system = LinearizeAlignment(problem, result.state, options);
      step = SolveStep(system, damping);
      error_before = system.error.detach();
      largest_gradient = system.b.detach().abs().amax(1);
    }
    torch::Tensor accept;
    AlignmentState trial;
    {
      torch::NoGradGuard no_grad;
      if (!result.initial_error.defined()) result.initial_error = error_before;
      const torch::Tensor error = ComputeAlignmentError(problem, RetractState(result.state, step), options);
      accept = active * error.lt(error_before) * torch::isfinite(error);
      trial = MaskStep(result.state, step, accept);
      result.final_error = torch::where(accept, error, error_before);
      damping = torch::where(accept, damping / options.damping_decrease, damping * options.damping_increase);
      const torch::Tensor settled = accept * step.abs().amax(1).lt(options.step_tolerance);
      const torch::Tensor flat = largest_gradient.lt(options.gradient_tolerance);
      const torch::Tensor stuck = accept.logical_not() * damping.gt(options.max_damping);
      active = active * (settled + flat + stuck).logical_not();
      damping = damping.clamp(options.min_damping, options.max_damping);
      result.accepted += accept.to(result.accepted.dtype());
    }
    if (keep_graph) {
      result.state = MaskStep(result.state, step, accept);
    } else if (torch::GradMode::is_enabled()) {
      result.state = TakeCheckpointedStep(problem, result.state, {used_damping, accept, trial}, options);
    } else {
      result.state = trial;
    }
    result.steps.push_back(result.state);
  }
}

// The finest levels alone; 0 are all.
AlignmentProblem WithLevels(AlignmentProblem problem, int levels) {
  if (levels <= 0) return problem;
  const auto count = std::min(static_cast<size_t>(levels), problem.source_features.size());
  problem.source_features.resize(count);
  problem.target_features.resize(count);
  return problem;
}

}  // namespace

AlignmentResult AlignPairs(const AlignmentProblem& problem, const AlignmentState& start,
                           const AlignmentOptions& options) {
  LUMEN_CHECK(problem.source_features.size() == options.level_weights.size() &&
              problem.target_features.size() == options.level_weights.size());
  AlignmentResult result;
  result.state = start;
  result.accepted = torch::zeros_like(start.log_scale.detach());
  if (options.placing_iterations > 0) {
    AlignmentOptions placing = options;
    placing.code_is_free = false;
    placing.iterations = options.placing_iterations;
    Minimize(problem, placing, result);
  }
  AlignmentProblem fine = WithLevels(problem, options.finest_levels);
  fine.scale_goal = result.state.log_scale;
  AlignmentOptions shaping = options;
  shaping.matched_weight = shaping.geometry_weight = 0;
  shaping.reprojection_weight = options.shaping_reprojection;
  shaping.scale_prior_weight = options.shaping_scale_prior;
  shaping.level_weights.resize(fine.source_features.size());
  Minimize(fine, shaping, result);
  return result;
}

}  // namespace lumen
