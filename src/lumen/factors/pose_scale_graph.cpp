#include "lumen/factors/pose_scale_graph.h"

#include <cmath>

#include "lumen/base/error.h"
#include "lumen/factors/prior_factors.h"

namespace lumen {

LevenbergMarquardtOptions PoseScaleOptions::PaperSolver() {
  LevenbergMarquardtOptions solver;
  solver.max_iterations = 200;
  solver.settled_steps = 5;
  solver.settled_thresholds = {.pose = 3e-3, .log_scale = 1e-2, .code = 0};
  solver.reuse_error_change = 0;
  solver.gradient_tolerance = 1e-7;
  solver.step_ratio_tolerance = 0;
  // A loop may start far from its goal: more room for damping than tracking needs.
  solver.max_damping = 1e4;
  solver.min_damping = 1e-9;
  solver.damping_increase = 10;
  return solver;
}

void PoseScaleOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("connection_weight", connection_weight, {.min = 0, .help = "RPS of ordinary connections"});
  visitor.Field("loop_weight", loop_weight, {.min = 0, .help = "RPS of global loops"});
  visitor.Field("rotation_weight", rotation_weight, {.min = 0, .help = "ω_rot"});
  visitor.Field("scale_weight", scale_weight, {.min = 0, .help = "ω_scl"});
  visitor.Field("loop_scale_weight", loop_scale_weight, {.min = 0, .help = "SC of a loop's keyframes"});
  visitor.Field("anchor_weight", anchor_weight, {.min = 0, .help = "PS and SC of the anchor"});
  visitor.Group("solver", solver);
}

namespace {
constexpr const char* kOutcomeNames[] = {"converged", "not converged", "nothing to do"};
}  // namespace

std::string ToString(PoseScaleStatus status) { return kOutcomeNames[static_cast<size_t>(status)]; }

namespace {

RelativePoseScaleGoal CurrentGoal(const PoseScaleProblem& problem, int64_t source, int64_t target) {
  const PoseScale& from = problem.keyframes.at(source);
  const PoseScale& to = problem.keyframes.at(target);
  return {to.world_from_camera.Inverse() * from.world_from_camera, from.log_scale, to.log_scale};
}

// RPS measures translation in the source's scale, so a link is held from both ends.
void AddBothWays(int64_t source, int64_t target, const RelativePoseScaleGoal& goal,
                 const RelativePoseScaleOptions& options, FactorGraph& factors) {
  const RelativePoseScaleGoal back{goal.target_from_source.Inverse(), goal.target_log_scale,
                                   goal.source_log_scale};
  factors.push_back(
      std::make_shared<RelativePoseScaleFactor>(PairVariables::World(source, target), goal, options));
  factors.push_back(
      std::make_shared<RelativePoseScaleFactor>(PairVariables::World(target, source), back, options));
}

FactorGraph MakeFactors(const PoseScaleProblem& problem, const PoseScaleOptions& options) {
  FactorGraph factors;
  const RelativePoseScaleOptions connection{options.connection_weight, options.rotation_weight,
                                            options.scale_weight};
  for (const auto& [source, target] : problem.connections) {
    AddBothWays(source, target, CurrentGoal(problem, source, target), connection, factors);
  }
  const RelativePoseScaleOptions loop{options.loop_weight, options.rotation_weight, options.scale_weight};
  for (const auto& [source, target] : problem.earlier_loops) {
    AddBothWays(source, target, CurrentGoal(problem, source, target), loop, factors);
  }
  for (const PoseScaleLoop& l : problem.loops) {
    AddBothWays(l.source, l.target, l.goal, loop, factors);
    factors.push_back(std::make_shared<ScaleFactor>(KeyframeKey(l.source), l.goal.source_log_scale,
                                                    options.loop_scale_weight));
    factors.push_back(std::make_shared<ScaleFactor>(KeyframeKey(l.target), l.goal.target_log_scale,
                                                    options.loop_scale_weight));
  }
  const PoseScale& anchor = problem.keyframes.at(problem.anchor);
  factors.push_back(std::make_shared<PoseFactor>(KeyframeKey(problem.anchor), anchor.world_from_camera,
                                                 options.anchor_weight));
  factors.push_back(
      std::make_shared<ScaleFactor>(KeyframeKey(problem.anchor), anchor.log_scale, options.anchor_weight));
  return factors;
}

void CheckProblem(const PoseScaleProblem& problem) {
  LUMEN_CHECK(problem.keyframes.contains(problem.anchor), "the anchor ", problem.anchor, " is not there");
  const auto check = [&](int64_t source, int64_t target) {
    LUMEN_CHECK(source != target && problem.keyframes.contains(source) && problem.keyframes.contains(target),
                "a link between ", source, " and ", target);
  };
  for (const auto& [source, target] : problem.connections) check(source, target);
  for (const auto& [source, target] : problem.earlier_loops) check(source, target);
  for (const PoseScaleLoop& loop : problem.loops) check(loop.source, loop.target);
}

}  // namespace

PoseScaleResult SolvePoseScaleGraph(const PoseScaleProblem& problem, const PoseScaleOptions& options) {
  CheckProblem(problem);
  PoseScaleResult result;
  result.keyframes = problem.keyframes;
  result.reason = "there is no loop to close";
  if (problem.loops.empty()) return result;

  Values values;
  for (const auto& [id, state] : problem.keyframes) {
    values.Insert(KeyframeKey(id), MakeKeyframeValue(state.world_from_camera, state.log_scale, {}));
  }
  result.solver = MinimizeLevenbergMarquardt(MakeFactors(problem, options), options.solver, values);
  for (auto& [id, state] : result.keyframes) {
    const Sim3& place = values.Keyframe(KeyframeKey(id)).world_from_keyframe;
    state = {Rigid3(place.Rotation(), place.Translation()), std::log(place.Scale())};
  }
  result.status = result.solver.Converged() ? PoseScaleStatus::kConverged : PoseScaleStatus::kNotConverged;
  result.reason = ToString(result.solver.reason);
  return result;
}

}  // namespace lumen
