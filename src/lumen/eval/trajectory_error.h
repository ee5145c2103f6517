// Errors of a trajectory after the similarity that fits it best onto the truth (docs/evaluation.md):
// absolute (ATE) over all poses, relative (RPE) over all pairs of poses a step apart.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lumen/eval/association.h"
#include "lumen/geometry/sim3.h"

namespace lumen {

struct TrajectoryErrorOptions {
  double max_time_gap = kMaxTimeGap;  // seconds
  int step_poses = 7;                 // Δ of the RPE, in graded poses …
  double step_seconds = 0;            // … or, if positive, the pose nearest to that much later
};

enum class TrajectoryStatus { kGood, kNoCommonTimes, kTooFewPoses, kNoSimilarity };

// One graded pose, in the truth's world and units.
struct PoseError {
  double time = 0;
  Rigid3 truth;
  Rigid3 estimate;  // aligned
  double translation = 0;
  double rotation_degrees = 0;
  double own_rotation_degrees = 0;  // after the turn that fits the orientations best; see below
};

struct RelativeErrors {
  size_t pairs = 0;
  double translation = 0, rotation_degrees = 0;  // RMSE
  double drift_percent = 0;                      // Σ |error| against Σ true path between the two poses
  double mean_seconds = 0;                       // between the two poses
};

struct TrajectoryErrors {
  TrajectoryStatus status = TrajectoryStatus::kNoCommonTimes;
  std::string reason;  // in words, unless good
  size_t associated = 0;
  // The rest is set where the status is good.
  Sim3 truth_from_estimate;
  std::vector<PoseError> poses;
  double ate_translation = 0, ate_rotation_degrees = 0;  // RMSE
  // The same of the orientations after the one turn of the world that fits them best, rather than the
  // positions: what is left when the positions (a straight path) do not determine the turn.
  double own_rotation_degrees = 0;
  double path_length = 0;  // of the truth, from the first graded pose to the last
  std::optional<RelativeErrors> relative;
  std::string relative_reason;  // why there is none
};

// Poses that have a true one, each with its errors under an alignment that is known.
std::vector<PoseError> ComputePoseErrors(const Trajectory& estimate, const Trajectory& truth,
                                         const Sim3& truth_from_estimate, double max_time_gap = kMaxTimeGap);

TrajectoryErrors ComputeTrajectoryErrors(const Trajectory& estimate, const Trajectory& truth,
                                         const TrajectoryErrorOptions& options = {});

}  // namespace lumen
