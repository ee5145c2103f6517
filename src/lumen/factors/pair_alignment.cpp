#include "lumen/factors/pair_alignment.h"

#include <Eigen/Eigenvalues>

#include "lumen/base/error.h"
#include "lumen/factors/prior_factors.h"

namespace lumen {

void PairAlignmentOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("optimize_scale", optimize_scale, {.help = "estimate the source's log-scale too"});
  visitor.Field("use_feature_metric", use_feature_metric,
                {.help = "align by the feature maps; without them matches alone place the frame"});
  visitor.Field("optimize_code", optimize_code, {.help = "estimate the source's depth code too"});
  visitor.Field("use_matched_geometry", use_matched_geometry,
                {.help = "match in 3D (SMG) instead of 2D (RP)"});
  visitor.Field("scale_prior_weight", scale_prior_weight,
                {.min = 0, .help = "weight of SC, where scale is free"});
  visitor.Field("code_prior_weight", code_prior_weight,
                {.min = 0, .help = "weight of CD, where the code is free"});
  visitor.Field("relative_code", relative_code, {.help = "weigh codes by the share of the depth they add"});
  visitor.Field("code_joins_late", code_joins_late,
                {.help = "hold the code until the finest levels are alone"});
  visitor.Field("late_scale_weight", late_scale_weight,
                {.min = 0, .help = "weight of SC when the code joins late"});
  visitor.Field("finest_levels", finest_levels,
                {.min = 0, .max = kMaxLevels, .help = "finest levels to end with alone; 0: none"});
  visitor.Field("min_overlap", min_overlap,
                {.min = 0, .max = 1, .help = "share of the source's samples that must be seen"});
  visitor.Group("feature_metric", feature_metric);
  visitor.Group("reprojection", reprojection);
  visitor.Group("matched_geometry", matched_geometry);
  visitor.Group("solver", solver);
}

namespace {
constexpr const char* kStatusNames[] = {"converged", "not converged", "no overlap", "degenerate"};
}  // namespace

std::string ToString(PairAlignmentStatus status) { return kStatusNames[static_cast<size_t>(status)]; }

namespace {

const Key kPose = PoseKey(0);
const Key kScale = LogScaleKey(0);
const Key kCode = CodeKey(0);

// A direction of motion with less than this share of the best one's information is not observed.
constexpr double kDegenerateRatio = 1e-9;

struct PairGraph {
  FactorPtr feature, match;
  FactorGraph priors;
  Values values;
};

Eigen::VectorXd CodeOrZero(const Eigen::VectorXd& code, int size) {
  return code.size() == 0 ? Eigen::VectorXd(Eigen::VectorXd::Zero(size)) : code;
}

// The variables of the pair, and the priors of those that are free; they start in `values`, where they are
// not there already.
PairVariables MakeVariables(const PairAlignmentProblem& problem, const PairAlignmentOptions& options,
                            PairGraph& graph) {
  graph.priors.clear();
  DepthVariables source = DepthVariables::Fixed(problem.source_log_scale,
                                                CodeOrZero(problem.source_code, problem.source->NumBases()));
  if (options.optimize_scale) {
    source.log_scale_key = kScale;
    if (!graph.values.Contains(kScale)) graph.values.Insert(kScale, source.log_scale);
    graph.priors.push_back(
        std::make_shared<ScaleFactor>(kScale, graph.values.LogScale(kScale), options.scale_prior_weight));
  }
  if (options.optimize_code) {
    source.code_key = kCode;
    graph.values.Insert(kCode, source.code);
    const Eigen::VectorXd zero = Eigen::VectorXd::Zero(source.code.size());
    const double share = options.relative_code ? RelativeBasisSize(*problem.source->keyframe) : 1;
    graph.priors.push_back(std::make_shared<CodeFactor>(kCode, zero, options.code_prior_weight * share));
  }
  DepthVariables target;
  if (problem.target_keyframe != nullptr) {
    target = DepthVariables::Fixed(
        problem.target_log_scale, CodeOrZero(problem.target_code, problem.target_keyframe->depth.NumBases()));
  }
  return PairVariables::Relative(kPose, source, target);
}

FactorPtr MakeMatchFactor(const PairAlignmentProblem& problem, const PairVariables& variables,
                          const PairAlignmentOptions& options) {
  if (problem.matches.empty()) return nullptr;
  if (options.use_matched_geometry) {
    return std::make_shared<MatchedGeometryFactor>(variables, problem.source->keyframe,
                                                   problem.target_keyframe, problem.matches,
                                                   options.matched_geometry);
  }
  return std::make_shared<ReprojectionFactor>(variables, problem.source->keyframe, problem.target->view,
                                              problem.matches, options.reprojection);
}

// Minimises over this many levels, from where the values are; keeps the feature factor for the judgement.
LevenbergMarquardtSummary Solve(const PairAlignmentProblem& problem, const PairVariables& variables,
                                const PairAlignmentOptions& options, size_t levels, PairGraph& graph) {
  FeatureMetricOptions feature_options = options.feature_metric;
  feature_options.level_weights.resize(std::min(levels, feature_options.level_weights.size()));
  graph.feature =
      std::make_shared<FeatureMetricFactor>(variables, problem.source, problem.target, feature_options);
  FactorGraph factors = graph.priors;
  if (options.use_feature_metric) factors.push_back(graph.feature);
  if (graph.match != nullptr) factors.push_back(graph.match);
  return MinimizeLevenbergMarquardt(factors, options.solver, graph.values);
}

bool IsDegenerate(const Matrix6d& information) {
  // Of dynamic size: a fixed 6×6 solver takes minutes to compile with sanitizers.
  const Eigen::MatrixXd matrix = information;
  const Eigen::VectorXd eigenvalues =
      Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(matrix, Eigen::EigenvaluesOnly).eigenvalues();
  return !(eigenvalues[0] > kDegenerateRatio * eigenvalues[5]);
}

void Judge(const PairAlignmentOptions& options, PairAlignmentResult& result) {
  if (result.overlap < options.min_overlap || result.overlap == 0) {
    result.status = PairAlignmentStatus::kNoOverlap;
    result.reason =
        StrCat("only ", 100 * result.overlap, " % of the source's samples are seen in the target");
  } else if (IsDegenerate(result.information)) {
    result.status = PairAlignmentStatus::kDegenerate;
    result.reason = "features and matches do not fix all six directions of motion";
  } else {
    const LevenbergMarquardtSummary& last = options.finest_levels > 0 ? result.finest_solver : result.solver;
    result.status = last.Converged() ? PairAlignmentStatus::kConverged : PairAlignmentStatus::kNotConverged;
    result.reason = ToString(last.reason);
  }
}

}  // namespace

PairAlignmentResult AlignPair(const PairAlignmentProblem& given, const Rigid3& initial_target_from_source,
                              const PairAlignmentOptions& options) {
  LUMEN_CHECK(given.source != nullptr && given.target != nullptr);
  PairAlignmentProblem problem = given;
  problem.target = UnpackFrame(given.target);  // once for all iterations
  LUMEN_CHECK(!options.use_matched_geometry || problem.target_keyframe != nullptr,
              "matched geometry needs the target's depth");
  PairGraph graph;
  graph.values.Insert(kPose, initial_target_from_source);
  PairAlignmentOptions first = options;
  PairAlignmentOptions last = options;
  const bool late = options.optimize_code && options.code_joins_late && options.finest_levels > 0;
  if (late) {
    first.optimize_code = false;
    last.use_matched_geometry = false;
    last.scale_prior_weight = options.late_scale_weight;
  }
  PairVariables variables = MakeVariables(problem, first, graph);
  graph.match = MakeMatchFactor(problem, variables, first);
  PairAlignmentResult result;
  result.solver = Solve(problem, variables, first, kMaxLevels, graph);
  if (late) {
    variables = MakeVariables(problem, last, graph);
    graph.match = MakeMatchFactor(problem, variables, last);
  }
  if (options.finest_levels > 0) {
    result.finest_solver = Solve(problem, variables, last, static_cast<size_t>(options.finest_levels), graph);
  }

  result.target_from_source = graph.values.Pose(kPose);
  result.source_log_scale = options.optimize_scale ? graph.values.LogScale(kScale) : problem.source_log_scale;
  result.source_code = options.optimize_code ? graph.values.Code(kCode)
                                             : CodeOrZero(problem.source_code, problem.source->NumBases());
  const NormalBlock feature = graph.feature->Linearize(graph.values);
  result.feature_error = feature.error;
  result.overlap = problem.source->Size() == 0
                       ? 0
                       : static_cast<double>(feature.count) / static_cast<double>(problem.source->Size());
  result.information = feature.Hessian(kPose, kPose);
  if (graph.match != nullptr) {
    const NormalBlock match = graph.match->Linearize(graph.values);
    result.match_error = match.error;
    result.information += match.Hessian(kPose, kPose);
  }
  Judge(options, result);
  return result;
}

}  // namespace lumen
