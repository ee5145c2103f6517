#include "lumen/eval/trajectory_error.h"

#include <Eigen/SVD>
#include <cmath>
#include <numbers>

#include "lumen/base/text.h"
#include "lumen/geometry/alignment.h"

namespace lumen {

namespace {

constexpr double kDegrees = 180 / std::numbers::pi;
constexpr size_t kLeastPoses = 3;

std::vector<Eigen::Vector3d> Centres(const std::vector<PosePair>& pairs, const Trajectory& trajectory,
                                     size_t PosePair::*index) {
  std::vector<Eigen::Vector3d> centres;
  centres.reserve(pairs.size());
  for (const PosePair& pair : pairs)
    centres.push_back(trajectory[pair.*index].world_from_camera.Translation());
  return centres;
}

// No point is away from the first one by more than rounding.
bool AllEqual(const std::vector<Eigen::Vector3d>& points) {
  double spread = 0;
  double size = 0;
  for (const Eigen::Vector3d& point : points) {
    spread = std::max(spread, (point - points.front()).norm());
    size = std::max(size, point.norm());
  }
  return spread <= 1e-12 * size;
}

std::string DescribeSpan(const Trajectory& trajectory) {
  if (trajectory.empty()) return "no poses";
  return StrCat(FormatDouble(trajectory.front().time), " … ", FormatDouble(trajectory.back().time), " s");
}

TrajectoryErrors Fail(TrajectoryStatus status, size_t associated, const std::string& reason) {
  TrajectoryErrors errors;
  errors.status = status;
  errors.associated = associated;
  errors.reason = reason;
  return errors;
}

std::string ExplainNoSimilarity(const std::vector<Eigen::Vector3d>& estimate,
                                const std::vector<Eigen::Vector3d>& truth) {
  if (AllEqual(estimate)) return "all estimated positions are equal: no similarity to the truth exists";
  if (AllEqual(truth)) return "all true positions are equal: no similarity to the truth exists";
  return "the positions lie on one line: no single similarity to the truth exists";
}

std::vector<PoseError> GradePoses(const Trajectory& estimate, const Trajectory& truth,
                                  const std::vector<PosePair>& pairs, const Sim3& truth_from_estimate) {
  std::vector<PoseError> poses;
  poses.reserve(pairs.size());
  for (const PosePair& pair : pairs) {
    PoseError pose{truth[pair.truth].time, truth[pair.truth].world_from_camera,
                   truth_from_estimate.TransformPose(estimate[pair.estimate].world_from_camera)};
    pose.translation = (pose.truth.Translation() - pose.estimate.Translation()).norm();
    pose.rotation_degrees = kDegrees * RotationAngle(pose.truth.Rotation(), pose.estimate.Rotation());
    poses.push_back(pose);
  }
  return poses;
}

double RootMeanSquare(const std::vector<PoseError>& poses, double PoseError::*error) {
  double sum = 0;
  for (const PoseError& pose : poses) sum += pose.*error * pose.*error;
  return std::sqrt(sum / static_cast<double>(poses.size()));
}

// Angles after the turn that brings the estimated orientations nearest to the true ones (chordal mean), and
// their RMS.
double FindOwnRotationErrors(std::vector<PoseError>& poses) {
  Eigen::Matrix3d sum = Eigen::Matrix3d::Zero();
  for (const PoseError& pose : poses)
    sum += pose.truth.RotationMatrix() * pose.estimate.RotationMatrix().transpose();
  const Eigen::JacobiSVD<Eigen::Matrix3d> svd(sum, Eigen::ComputeFullU | Eigen::ComputeFullV);
  Eigen::Vector3d signs = Eigen::Vector3d::Ones();
  if (svd.matrixU().determinant() * svd.matrixV().determinant() < 0) signs[2] = -1;
  const Eigen::Quaterniond turn(
      Eigen::Matrix3d(svd.matrixU() * signs.asDiagonal() * svd.matrixV().transpose()));
  double squares = 0;
  for (PoseError& pose : poses) {
    pose.own_rotation_degrees =
        kDegrees * RotationAngle(pose.truth.Rotation(), turn * pose.estimate.Rotation());
    squares += pose.own_rotation_degrees * pose.own_rotation_degrees;
  }
  return std::sqrt(squares / static_cast<double>(poses.size()));
}

// For each graded pose the one a step later, if there is one: (i, i + Δ), or by time.
std::vector<std::pair<size_t, size_t>> StepPairs(const std::vector<PoseError>& poses,
                                                 const TrajectoryErrorOptions& options) {
  std::vector<std::pair<size_t, size_t>> pairs;
  if (!(options.step_seconds > 0)) {
    const auto step = static_cast<size_t>(options.step_poses);
    for (size_t i = 0; i + step < poses.size(); ++i) pairs.emplace_back(i, i + step);
    return pairs;
  }
  const double slack = options.step_seconds / 4;  // sparse poses: the step is kept to a quarter
  size_t j = 0;
  for (size_t i = 0; i < poses.size(); ++i) {
    const double target = poses[i].time + options.step_seconds;
    if (target > poses.back().time + options.max_time_gap)
      break;  // the last pose stands in for none after it
    const auto gap = [&](size_t k) { return std::abs(poses[k].time - target); };
    j = std::max(j, i + 1);
    while (j + 1 < poses.size() && gap(j + 1) < gap(j)) ++j;
    if (j < poses.size() && gap(j) <= slack) pairs.emplace_back(i, j);
  }
  return pairs;
}

// Length of the true path up to each of its poses.
std::vector<double> CumulativeLength(const Trajectory& truth) {
  std::vector<double> length(truth.size(), 0);
  for (size_t i = 1; i < truth.size(); ++i) {
    const Eigen::Vector3d step =
        truth[i].world_from_camera.Translation() - truth[i - 1].world_from_camera.Translation();
    length[i] = length[i - 1] + step.norm();
  }
  return length;
}

// `length` is the true path's up to each graded pose.
std::optional<RelativeErrors> GradeSteps(const std::vector<PoseError>& poses,
                                         const std::vector<double>& length,
                                         const TrajectoryErrorOptions& options) {
  RelativeErrors relative;
  double squared_translation = 0, squared_rotation = 0, drift = 0, path = 0, seconds = 0;
  for (const auto& [i, j] : StepPairs(poses, options)) {
    const Rigid3 true_step = poses[i].truth.Inverse() * poses[j].truth;
    const Rigid3 estimated_step = poses[i].estimate.Inverse() * poses[j].estimate;
    const Rigid3 error = true_step.Inverse() * estimated_step;
    const double angle = kDegrees * LogSO3(error.Rotation()).norm();
    squared_translation += error.Translation().squaredNorm();
    squared_rotation += angle * angle;
    drift += error.Translation().norm();
    path += length[j] - length[i];
    seconds += poses[j].time - poses[i].time;
    ++relative.pairs;
  }
  if (relative.pairs == 0) return std::nullopt;
  const auto count = static_cast<double>(relative.pairs);
  relative.translation = std::sqrt(squared_translation / count);
  relative.rotation_degrees = std::sqrt(squared_rotation / count);
  relative.drift_percent = 100 * drift / path;  // of no path at all: not finite, hence absent
  relative.mean_seconds = seconds / count;
  return relative;
}

std::string ExplainNoSteps(size_t poses, const TrajectoryErrorOptions& options) {
  if (options.step_seconds > 0)
    return StrCat("no two graded poses are about ", FormatDouble(options.step_seconds), " s apart");
  return StrCat("pairs ", options.step_poses, " poses apart need at least ", options.step_poses + 1,
                " associated poses, found ", poses);
}

}  // namespace

std::vector<PoseError> ComputePoseErrors(const Trajectory& estimate, const Trajectory& truth,
                                         const Sim3& truth_from_estimate, double max_time_gap) {
  return GradePoses(estimate, truth, AssociateByTime(estimate, truth, max_time_gap), truth_from_estimate);
}

TrajectoryErrors ComputeTrajectoryErrors(const Trajectory& estimate, const Trajectory& truth,
                                         const TrajectoryErrorOptions& options) {
  const std::vector<PosePair> pairs = AssociateByTime(estimate, truth, options.max_time_gap);
  if (pairs.empty()) {
    return Fail(TrajectoryStatus::kNoCommonTimes, 0,
                StrCat("no estimated pose lies within ", FormatDouble(1000 * options.max_time_gap),
                       " ms of a true one (estimate: ", DescribeSpan(estimate),
                       ", truth: ", DescribeSpan(truth), ")"));
  }
  if (pairs.size() < kLeastPoses) {
    return Fail(TrajectoryStatus::kTooFewPoses, pairs.size(),
                StrCat("a similarity needs ", kLeastPoses, " associated poses, found ", pairs.size()));
  }
  const std::vector<Eigen::Vector3d> from = Centres(pairs, estimate, &PosePair::estimate);
  const std::vector<Eigen::Vector3d> to = Centres(pairs, truth, &PosePair::truth);
  const std::optional<Sim3> alignment =
      AllEqual(from) || AllEqual(to) ? std::nullopt : EstimateAlignment(from, to);
  if (!alignment) return Fail(TrajectoryStatus::kNoSimilarity, pairs.size(), ExplainNoSimilarity(from, to));

  TrajectoryErrors errors;
  errors.status = TrajectoryStatus::kGood;
  errors.associated = pairs.size();
  errors.truth_from_estimate = *alignment;
  errors.poses = GradePoses(estimate, truth, pairs, *alignment);
  errors.ate_translation = RootMeanSquare(errors.poses, &PoseError::translation);
  errors.ate_rotation_degrees = RootMeanSquare(errors.poses, &PoseError::rotation_degrees);

  errors.own_rotation_degrees = FindOwnRotationErrors(errors.poses);

  const std::vector<double> truth_length = CumulativeLength(truth);
  std::vector<double> length;
  length.reserve(pairs.size());
  for (const PosePair& pair : pairs) length.push_back(truth_length[pair.truth]);
  errors.path_length = length.back() - length.front();
  errors.relative = GradeSteps(errors.poses, length, options);
  if (!errors.relative) errors.relative_reason = ExplainNoSteps(pairs.size(), options);
  return errors;
}

}  // namespace lumen
