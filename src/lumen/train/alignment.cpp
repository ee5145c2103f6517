#include "lumen/train/alignment.h"

#include "lumen/base/error.h"
#include "lumen/train/losses.h"

namespace lumen {

namespace {

constexpr double kMinDepth = 1e-4;        // as in factors/warp.h
constexpr double kNoOverlapSquared = 10;  // as FeatureMetricFactor
constexpr double kNoOverlapRatio = 100;   // as GC and SMG

torch::Tensor Dot(const torch::Tensor& a, const torch::Tensor& b) { return (a * b).sum(-1); }

// [I | −Hat(x)]: a point's motion by a left perturbation of the pose, (…, 3, 6).
torch::Tensor MotionByPose(const torch::Tensor& x) {
  const torch::Tensor zero = torch::zeros_like(x.select(-1, 0));
  const torch::Tensor one = torch::ones_like(zero);
  const torch::Tensor X = x.select(-1, 0);
  const torch::Tensor Y = x.select(-1, 1);
  const torch::Tensor Z = x.select(-1, 2);
  return torch::stack(
      {torch::stack({one, zero, zero, zero, Z, -Y}, -1), torch::stack({zero, one, zero, -Z, zero, X}, -1),
       torch::stack({zero, zero, one, Y, -X, zero}, -1)},
      -2);
}

// Source points in the target's frame.
struct WarpedPoints {
  torch::Tensor depth;      // (B, N)
  torch::Tensor direction;  // (B, N, 3): by depth
  torch::Tensor x;          // (B, N, 3)
  torch::Tensor positive;   // (B, N): depth and z are
};

WarpedPoints WarpSamples(const torch::Tensor& rays, const torch::Tensor& average, const torch::Tensor& bases,
                         const AlignmentState& state) {
  WarpedPoints points;
  const torch::Tensor scale = torch::exp(state.log_scale).unsqueeze(1);
  points.depth = scale * (average + Dot(bases, state.code.unsqueeze(1)));
  points.direction = torch::matmul(rays, state.rotation.transpose(1, 2));
  points.x = points.depth.unsqueeze(2) * points.direction + state.translation.unsqueeze(1);
  points.positive = (points.depth.gt(kMinDepth) * points.x.select(2, 2).gt(kMinDepth)).to(average.dtype());
  return points;
}

// Where they land in the picture, which count, and how that changes with the point: (B, N, 2, 3).
struct Landing {
  torch::Tensor uv, valid, by_x;
};

Landing LandSamples(const AlignmentProblem& problem, const WarpedPoints& points) {
  Landing landing;
  const auto part = [&](int k) { return problem.camera.select(1, k).unsqueeze(1); };
  // Points behind the camera are pushed before it; they do not count.
  const torch::Tensor z =
      torch::where(points.positive.gt(0), points.x.select(2, 2), torch::ones_like(points.depth));
  const torch::Tensor x = points.x.select(2, 0) / z;
  const torch::Tensor y = points.x.select(2, 1) / z;
  landing.uv = torch::stack({part(0) * x + part(2), part(1) * y + part(3)}, 2);
  const torch::Tensor zero = torch::zeros_like(z);
  landing.by_x = torch::stack({torch::stack({part(0) / z, zero, -part(0) * x / z}, 2),
                               torch::stack({zero, part(1) / z, -part(1) * y / z}, 2)},
                              2);
  {
    torch::NoGradGuard no_grad;
    const auto width = problem.target_mask.size(3);
    const auto height = problem.target_mask.size(2);
    const torch::Tensor u = (landing.uv.select(2, 0) + 0.5).floor();
    const torch::Tensor v = (landing.uv.select(2, 1) + 0.5).floor();
    const torch::Tensor inside =
        u.ge(0) * v.ge(0) * u.lt(static_cast<double>(width)) * v.lt(static_cast<double>(height));
    const torch::Tensor index = (v.clamp(0, static_cast<double>(height - 1)) * static_cast<double>(width) +
                                 u.clamp(0, static_cast<double>(width - 1)))
                                    .to(torch::kLong);
    const torch::Tensor content = problem.target_mask.flatten(1).gather(1, index);
    landing.valid = points.positive * inside.to(points.depth.dtype()) * content * problem.weight;
  }
  return landing;
}

// The columns of pose, log-scale and code of something that changes with the point by `by_x` (B, N, R, 3).
torch::Tensor ExpandColumns(const torch::Tensor& by_x, const WarpedPoints& points, const torch::Tensor& bases,
                            const AlignmentState& state) {
  const torch::Tensor by_pose = torch::matmul(by_x, MotionByPose(points.x));
  const torch::Tensor by_depth = torch::matmul(by_x, points.direction.unsqueeze(3));  // (B, N, R, 1)
  const torch::Tensor scale = torch::exp(state.log_scale).view({-1, 1, 1, 1});
  return torch::cat({by_pose, by_depth * points.depth.unsqueeze(2).unsqueeze(3),
                     torch::matmul(by_depth * scale, bases.unsqueeze(2))},
                    3);
}

// Σ_n Jᵀ W J and Σ_n Jᵀ W r for J (B, N, R, U), with the rows' weights (B, N, R) already chosen.
AlignmentSystem SumRows(const torch::Tensor& J, const torch::Tensor& residual,
                        const torch::Tensor& row_weight) {
  const torch::Tensor rows = J.flatten(1, 2);
  const torch::Tensor weighted = rows * row_weight.flatten(1, 2).unsqueeze(2);
  AlignmentSystem system;
  system.H = torch::bmm(weighted.transpose(1, 2), rows);
  system.b = torch::bmm(weighted.transpose(1, 2), residual.flatten(1, 2).unsqueeze(2)).squeeze(2);
  return system;
}

void AddScaled(AlignmentSystem& sum, const AlignmentSystem& part, const torch::Tensor& factor) {
  if (part.H.defined()) {
    const torch::Tensor H = part.H * factor.view({-1, 1, 1});
    const torch::Tensor b = part.b * factor.view({-1, 1});
    sum.H = sum.H.defined() ? sum.H + H : H;
    sum.b = sum.b.defined() ? sum.b + b : b;
  }
  sum.error = sum.error.defined() ? sum.error + part.error : part.error;
}

// The mean error of a factor, or its fixed worst where nothing is seen.
torch::Tensor MeanOr(const torch::Tensor& sum, const torch::Tensor& count, double worst) {
  return torch::where(count.gt(0), sum / count.clamp_min(1), torch::full_like(sum, worst));
}

// FM: the channels of all levels contract to a 2×2 matrix and a 2-vector in the image plane.
AlignmentSystem FeatureMetric(const AlignmentProblem& problem, const AlignmentState& state,
                              const WarpedPoints& points, const Landing& landing,
                              const AlignmentOptions& options, bool with_derivatives) {
  torch::Tensor gxx, gxy, gyy, gx, gy, error;
  double worst = 0;
  const auto add = [](torch::Tensor& sum, const torch::Tensor& term) {
    sum = sum.defined() ? sum + term : term;
  };
  for (size_t level = 0; level < options.level_weights.size(); ++level) {
    const double weight = options.level_weights[level];
    const double size = static_cast<double>(1 << level);
    worst += 0.5 * weight * kNoOverlapSquared;
    const torch::Tensor sampled =
        SampleMaps(problem.target_features[level], AtLevel(landing.uv, static_cast<int>(level)));
    const auto channels = sampled.size(2) / 3;
    const torch::Tensor residual = sampled.slice(2, 0, channels) - problem.source_features[level];
    add(error, 0.5 * weight * residual.square().sum(2));
    if (!with_derivatives) continue;
    const torch::Tensor dx = sampled.slice(2, channels, 2 * channels) / size;
    const torch::Tensor dy = sampled.slice(2, 2 * channels) / size;
    add(gxx, weight * Dot(dx, dx));
    add(gxy, weight * Dot(dx, dy));
    add(gyy, weight * Dot(dy, dy));
    add(gx, weight * Dot(dx, residual));
    add(gy, weight * Dot(dy, residual));
  }
  AlignmentSystem system;
  const torch::Tensor count = landing.valid.sum(1);
  system.error = MeanOr((landing.valid * error).sum(1), count, worst);
  if (!with_derivatives) return system;
  const torch::Tensor J = ExpandColumns(landing.by_x, points, problem.bases, state);  // (B, N, 2, U)
  const torch::Tensor A = torch::stack({torch::stack({gxx, gxy}, 2), torch::stack({gxy, gyy}, 2)}, 2);
  const torch::Tensor share = (landing.valid / count.clamp_min(1).unsqueeze(1)).unsqueeze(2);
  const torch::Tensor AJ = torch::matmul(A * share.unsqueeze(3), J);
  system.H = torch::bmm(AJ.flatten(1, 2).transpose(1, 2), J.flatten(1, 2));
  const torch::Tensor g = (torch::stack({gx, gy}, 2) * share).flatten(1, 2).unsqueeze(2);
  system.b = torch::bmm(J.flatten(1, 2).transpose(1, 2), g).squeeze(2);
  return system;
}

AlignmentSystem GeometricConsistency(const AlignmentProblem& problem, const AlignmentState& state,
                                     const WarpedPoints& points, const Landing& landing,
                                     const AlignmentOptions& options, bool with_derivatives) {
  const torch::Tensor scale = torch::exp(state.log_scale).unsqueeze(1);
  const torch::Tensor sampled = SampleMaps(problem.target_depth, landing.uv);
  const torch::Tensor known = SampleMaps(problem.target_known, landing.uv.detach()).squeeze(2).gt(0.999);
  const torch::Tensor valid = landing.valid * known.to(landing.valid.dtype());
  const torch::Tensor count = valid.sum(1);
  const torch::Tensor residual = (points.x.select(2, 2) - sampled.select(2, 0)) / scale;
  const torch::Tensor delta = (options.geometry_sigma * problem.mean_square).unsqueeze(1);
  AlignmentSystem system;
  system.error =
      options.geometry_weight * MeanOr((valid * 0.5 * torch::log1p(residual.square() / delta)).sum(1), count,
                                       0.5 * std::log1p(kNoOverlapRatio));
  if (!with_derivatives) return system;
  const torch::Tensor gradient = sampled.slice(2, 1, 3).unsqueeze(2);  // (B, N, 1, 2)
  torch::Tensor by_x = -torch::matmul(gradient, landing.by_x);
  by_x = torch::cat({by_x.slice(3, 0, 2), by_x.slice(3, 2, 3) + 1}, 3) / scale.unsqueeze(2).unsqueeze(3);
  torch::Tensor J = ExpandColumns(by_x, points, problem.bases, state);
  // The residual is measured in the source's scale.
  J = torch::cat({J.slice(3, 0, 6), J.slice(3, 6, 7) - residual.unsqueeze(2).unsqueeze(3), J.slice(3, 7)}, 3);
  const torch::Tensor weight =
      options.geometry_weight * valid / count.clamp_min(1).unsqueeze(1) / (delta + residual.square());
  const AlignmentSystem rows = SumRows(J, residual.unsqueeze(2), weight.unsqueeze(2));
  system.H = rows.H;
  system.b = rows.b;
  return system;
}

AlignmentSystem MatchedGeometry(const AlignmentProblem& problem, const AlignmentState& state,
                                const AlignmentOptions& options, bool with_derivatives) {
  const WarpedPoints points =
      WarpSamples(problem.match_rays, problem.match_average, problem.match_bases, state);
  const torch::Tensor scale = torch::exp(state.log_scale).view({-1, 1, 1});
  const torch::Tensor residual = (points.x - problem.match_points) / scale;
  const torch::Tensor delta = (options.matched_sigma * problem.mean_square).unsqueeze(1);
  const torch::Tensor ratio = torch::sqrt(residual.square().sum(2) / delta + 1e-18);
  const torch::Tensor seen = points.positive * problem.match_weight.gt(0).to(residual.dtype());
  const torch::Tensor count = seen.sum(1);
  const torch::Tensor weight = seen * problem.match_weight;
  const double worst = std::sqrt(kNoOverlapRatio) - std::log1p(std::sqrt(kNoOverlapRatio));
  AlignmentSystem system;
  system.error =
      options.matched_weight * MeanOr((weight * (ratio - torch::log1p(ratio))).sum(1), count, worst);
  if (!with_derivatives) return system;
  const torch::Tensor by_x = torch::eye(3, residual.options()).view({1, 1, 3, 3}) / scale.unsqueeze(3);
  torch::Tensor J = ExpandColumns(by_x, points, problem.match_bases, state);
  J = torch::cat({J.slice(3, 0, 6), J.slice(3, 6, 7) - residual.unsqueeze(3), J.slice(3, 7)}, 3);
  const torch::Tensor row_weight =
      options.matched_weight * weight / count.clamp_min(1).unsqueeze(1) / (delta * (1 + ratio));
  const AlignmentSystem rows = SumRows(J, residual, row_weight.unsqueeze(2).expand_as(residual));
  system.H = rows.H;
  system.b = rows.b;
  return system;
}

// SC and CD.
AlignmentSystem Priors(const AlignmentProblem& problem, const AlignmentState& state,
                       const AlignmentOptions& options) {
  const auto codes = state.code.size(1);
  const double code_weight = options.code_prior_weight / static_cast<double>(codes);
  const torch::Tensor off = state.log_scale - problem.scale_goal;
  const torch::Tensor none = torch::zeros({state.code.size(0), 6}, state.code.options());
  AlignmentSystem system;
  system.error =
      0.5 * options.scale_prior_weight * off.square() + 0.5 * code_weight * state.code.square().sum(1);
  system.b = torch::cat({none, (options.scale_prior_weight * off).unsqueeze(1), code_weight * state.code}, 1);
  system.H =
      torch::diag_embed(torch::cat({none, torch::full_like(off, options.scale_prior_weight).unsqueeze(1),
                                    torch::full_like(state.code, code_weight)},
                                   1));
  return system;
}

AlignmentSystem Evaluate(const AlignmentProblem& problem, const AlignmentState& state,
                         const AlignmentOptions& options, bool with_derivatives) {
  const WarpedPoints points = WarpSamples(problem.rays, problem.average, problem.bases, state);
  const Landing landing = LandSamples(problem, points);
  const torch::Tensor one = torch::ones_like(state.log_scale);
  AlignmentSystem sum;
  AddScaled(sum, FeatureMetric(problem, state, points, landing, options, with_derivatives), one);
  if (options.geometry_weight > 0)
    AddScaled(sum, GeometricConsistency(problem, state, points, landing, options, with_derivatives), one);
  if (options.matched_weight > 0)
    AddScaled(sum, MatchedGeometry(problem, state, options, with_derivatives), one);
  AlignmentSystem priors = Priors(problem, state, options);
  if (!with_derivatives) priors.H = torch::Tensor();
  AddScaled(sum, priors, one);
  return sum;
}

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
      state.rotation,  state.translation, state.log_scale,       state.code,
      problem.average, problem.bases,     problem.match_average, problem.match_bases};
  inputs.insert(inputs.end(), problem.source_features.begin(), problem.source_features.end());
  inputs.insert(inputs.end(), problem.target_features.begin(), problem.target_features.end());
  return inputs;
}

constexpr size_t kStateTensors = 4;

void UnpackInputs(const std::vector<torch::Tensor>& inputs, AlignmentProblem& problem,
                  AlignmentState& state) {
  state = {inputs[0], inputs[1], inputs[2], inputs[3]};
  problem.average = inputs[4];
  problem.bases = inputs[5];
  problem.match_average = inputs[6];
  problem.match_bases = inputs[7];
  const size_t levels = problem.source_features.size();
  for (size_t l = 0; l < levels; ++l) {
    problem.source_features[l] = inputs[8 + l];
    problem.target_features[l] = inputs[8 + levels + l];
  }
}

// What a checkpointed step needs on its way back.
struct StepRecord : torch::CustomClassHolder {
  AlignmentProblem problem;
  AlignmentOptions options;
  torch::Tensor damping, accept;
  AlignmentState after;  // already known from the decision
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
    for (const torch::Tensor& tensor : saved) {
      inputs.push_back(tensor.detach().set_requires_grad(true));
      wanted.push_back(inputs.back());
    }
    torch::autograd::variable_list outputs;
    {
      const torch::AutoGradMode with_graph(true);
      outputs = RunStep(*record, inputs);
    }
    torch::autograd::variable_list given;
    for (size_t i = 0; i < outputs.size(); ++i)
      given.push_back(gradients[i].defined() ? gradients[i] : torch::zeros_like(outputs[i]));
    torch::autograd::variable_list by_inputs = torch::autograd::grad(outputs, wanted, given, {}, false, true);
    by_inputs.insert(by_inputs.begin(), torch::Tensor());  // of the record
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
  for (const torch::Tensor& tensor : inputs) loose.push_back(tensor.detach());
  AlignmentState unused;
  UnpackInputs(loose, record->problem, unused);
  const std::vector<torch::Tensor> after = CheckpointedStep::apply(record, torch::TensorList(inputs));
  return {after[0], after[1], after[2], after[3]};
}

}  // namespace

void AlignmentOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("level_weights", level_weights, {.min = 0, .help = "FM: weight of each level, finest first"});
  visitor.Field("matched_weight", matched_weight, {.min = 0, .help = "SMG: weight"});
  visitor.Field("matched_sigma", matched_sigma,
                {.min = 1e-9, .help = "SMG: threshold in mean squared depths"});
  visitor.Field("geometry_weight", geometry_weight, {.min = 0, .help = "GC: weight"});
  visitor.Field("geometry_sigma", geometry_sigma,
                {.min = 1e-9, .help = "GC: threshold in mean squared depths"});
  visitor.Field("scale_prior_weight", scale_prior_weight, {.min = 0, .help = "SC: weight"});
  visitor.Field("code_prior_weight", code_prior_weight, {.min = 0, .help = "CD: weight"});
  visitor.Field("iterations", iterations, {.min = 1, .max = 100, .help = "Levenberg–Marquardt iterations"});
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

AlignmentSystem LinearizeAlignment(const AlignmentProblem& problem, const AlignmentState& state,
                                   const AlignmentOptions& options) {
  return Evaluate(problem, state, options, true);
}

torch::Tensor ComputeAlignmentError(const AlignmentProblem& problem, const AlignmentState& state,
                                    const AlignmentOptions& options) {
  return Evaluate(problem, state, options, false).error;
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
          state.log_scale + step.select(1, 6), state.code + step.slice(1, 7)};
}

AlignmentResult AlignPairs(const AlignmentProblem& problem, const AlignmentState& start,
                           const AlignmentOptions& options) {
  LUMEN_CHECK(problem.source_features.size() == options.level_weights.size() &&
              problem.target_features.size() == options.level_weights.size());
  AlignmentResult result;
  result.state = start;
  const auto batch = start.log_scale.size(0);
  torch::Tensor damping = torch::full_like(start.log_scale.detach(), options.initial_damping);
  torch::Tensor active = torch::ones({batch}, damping.options().dtype(torch::kBool));
  result.accepted = torch::zeros_like(damping);
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
      if (iteration == 0) result.initial_error = error_before;
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
  return result;
}

torch::Tensor WithGradients(const torch::Tensor& maps, const torch::Tensor& mask) {
  const auto derivative = [&](int64_t dim) {
    const auto size = maps.size(dim);
    const auto shifted = [&](const torch::Tensor& x, bool forward) {
      const torch::Tensor first = x.slice(dim, 0, 1);
      const torch::Tensor last = x.slice(dim, size - 1, size);
      return forward ? torch::cat({x.slice(dim, 1, size), last}, dim)
                     : torch::cat({first, x.slice(dim, 0, size - 1)}, dim);
    };
    torch::Tensor after, before;
    {
      torch::NoGradGuard no_grad;
      const torch::Tensor index = torch::arange(size, maps.options());
      std::vector<int64_t> shape = {1, 1, 1, 1};
      shape[static_cast<size_t>(dim)] = size;
      after = shifted(mask, true).gt(0.5) * index.lt(static_cast<double>(size) - 1.5).view(shape);
      before = shifted(mask, false).gt(0.5) * index.gt(0.5).view(shape);
    }
    const torch::Tensor scale =
        torch::where(after * before, 0.5 * torch::ones_like(mask), torch::ones_like(mask));
    return scale * (torch::where(after, shifted(maps, true), maps) -
                    torch::where(before, shifted(maps, false), maps));
  };
  return torch::cat({maps, derivative(3), derivative(2)}, 1);
}

std::vector<torch::Tensor> MakeFeatureLevels(const torch::Tensor& maps, const torch::Tensor& mask,
                                             int levels) {
  const torch::Tensor taps = torch::tensor({1.0, 3.0, 3.0, 1.0}, maps.options()) / 8.0;
  const torch::Tensor kernel = (taps.view({4, 1}) * taps.view({1, 4})).view({1, 1, 4, 4});
  const auto halve = [&](const torch::Tensor& x) {
    return torch::conv2d(x.flatten(0, 1).unsqueeze(1), kernel, {}, 2, 1)
        .view({x.size(0), x.size(1), x.size(2) / 2, x.size(3) / 2});
  };
  std::vector<torch::Tensor> result;
  torch::Tensor level = maps;
  torch::Tensor level_mask = mask;
  for (int l = 0; l < levels; ++l) {
    if (l > 0) {
      const torch::Tensor total = halve(level_mask);
      level = halve(level * level_mask) / total.clamp_min(1e-6);
      level_mask = torch::max_pool2d(level_mask, 2);
    }
    result.push_back(WithGradients(level, level_mask));
  }
  return result;
}

}  // namespace lumen
