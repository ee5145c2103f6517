// The light graph that closes a loop: poses and log-scales of all keyframes, RPS along every connection
// (which keeps what it has) and along the loops (which pull to what was verified), SC on the loops'
// keyframes, and PS and SC on the anchor. Codes stay as they are.
#pragma once

#include <map>

#include "lumen/factors/relative_pose_scale_factor.h"
#include "lumen/graph/levenberg_marquardt.h"

namespace lumen {

struct PoseScaleOptions {
  double connection_weight = 1;
  double loop_weight = 5;
  double rotation_weight = 5;
  double scale_weight = 0.5;
  double loop_scale_weight = 10;  // SC
  double anchor_weight = 1e4;     // PS and SC of the anchor
  LevenbergMarquardtOptions solver = PaperSolver();

  // At most 200 steps; done after five in a row below the paper's relinearisation thresholds.
  static LevenbergMarquardtOptions PaperSolver();
  void Describe(ConfigVisitor& visitor);
};

struct PoseScale {
  Rigid3 world_from_camera;
  double log_scale = 0;
};

// A loop: where the target should see the source, and both scales, as verified.
struct PoseScaleLoop {
  int64_t source = 0;
  int64_t target = 0;
  RelativePoseScaleGoal goal;
};

struct PoseScaleProblem {
  std::map<int64_t, PoseScale> keyframes;
  std::vector<std::pair<int64_t, int64_t>> connections;    // to be kept as they are
  std::vector<std::pair<int64_t, int64_t>> earlier_loops;  // likewise, with a loop's weight
  std::vector<PoseScaleLoop> loops;
  int64_t anchor = 0;
};

enum class PoseScaleStatus {
  kConverged,
  kNotConverged,  // ran out of iterations, or no step lowered the error
  kNothingToDo,   // no loop
};

std::string ToString(PoseScaleStatus status);

struct PoseScaleResult {
  PoseScaleStatus status = PoseScaleStatus::kNothingToDo;
  std::string reason;                      // in words
  std::map<int64_t, PoseScale> keyframes;  // a keyframe without connection stays where it was
  LevenbergMarquardtSummary solver;
};

// A connection or loop to a keyframe that is not there breaks the contract.
PoseScaleResult SolvePoseScaleGraph(const PoseScaleProblem& problem, const PoseScaleOptions& options = {});

}  // namespace lumen
