// Aligns a frame to a keyframe: target_from_source by FM together with matches (RP, or SMG where the
// target's depth is known), and on request the source's log-scale and depth code. This is the paper's
// camera tracking (pose only), its check of loop candidates (pose and scale) and the problem the networks
// are trained on (pose, scale and code).
#pragma once

#include "lumen/factors/feature_metric_factor.h"
#include "lumen/factors/match_factors.h"
#include "lumen/graph/levenberg_marquardt.h"

namespace lumen {

struct PairAlignmentOptions {
  bool use_feature_metric = true;  // without it matches alone place the frame
  bool optimize_scale = false;
  bool optimize_code = false;
  bool use_matched_geometry = false;  // SMG instead of RP; needs the target's depth
  // A pair fixes scale and translation only together unless the target's depth is known (SMG): these
  // weak priors (SC, CD) hold scale and code where the data does not.
  double scale_prior_weight = 1e-4;
  double code_prior_weight = 1e-4;
  bool relative_code = false;  // CD on the share of the depth that codes add, whatever size bases are
  // The code is held while all levels place the frame, and joins when the finest are alone: from a start that
  // is far off, a free code explains the wrong place instead of leaving it. RP then takes SMG's place, since
  // the target's depth is an estimate, too, and the scale stays near where the placing left it.
  bool code_joins_late = false;
  double late_scale_weight = 1;
  // After the joint solve over all levels, go on with this many of the finest alone; 0 does not. Coarse
  // levels widen the basin of convergence but bias its bottom, since smoothing and warping do not commute.
  int finest_levels = 1;
  double min_overlap = 0.05;  // share of the source's samples that must be seen at the end
  FeatureMetricOptions feature_metric;
  ReprojectionOptions reprojection;
  MatchedGeometryOptions matched_geometry;
  LevenbergMarquardtOptions solver;

  void Describe(ConfigVisitor& visitor);
};

struct PairAlignmentProblem {
  std::shared_ptr<const KeyframeSamples> source;
  std::shared_ptr<const Frame> target;
  std::vector<Match> matches;
  // The source's depth where the search starts (or stays); an empty code counts as zero.
  double source_log_scale = 0;
  Eigen::VectorXd source_code;
  // The target's depth, for SMG.
  std::shared_ptr<const Keyframe> target_keyframe;
  double target_log_scale = 0;
  Eigen::VectorXd target_code;
};

enum class PairAlignmentStatus {
  kConverged,
  kNotConverged,  // ran out of iterations, or no step lowered the error
  kNoOverlap,     // too little of the source is seen in the target
  kDegenerate,    // the data does not fix the pose
};

std::string ToString(PairAlignmentStatus status);

struct PairAlignmentResult {
  PairAlignmentStatus status = PairAlignmentStatus::kNotConverged;
  std::string reason;  // in words
  Rigid3 target_from_source;
  double source_log_scale = 0;
  Eigen::VectorXd source_code;
  double overlap = 0;        // share of the source's samples that are seen
  double feature_error = 0;  // the factors' errors at the end
  double match_error = 0;
  Matrix6d information = Matrix6d::Zero();  // of the pose alone, with scale and code held
  LevenbergMarquardtSummary solver;         // over all levels
  LevenbergMarquardtSummary finest_solver;  // over the finest ones
};

PairAlignmentResult AlignPair(const PairAlignmentProblem& problem, const Rigid3& initial_target_from_source,
                              const PairAlignmentOptions& options = {});

}  // namespace lumen
