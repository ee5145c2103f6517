#include "lumen/apps/status_grading.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "lumen/base/file.h"
#include "lumen/base/parallel.h"
#include "lumen/eval/association.h"
#include "lumen/eval/statistics.h"
#include "lumen/io/trajectory_file.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

// The paths of a run's sub-maps, the one in frames.tum first.
std::vector<Trajectory> PathsOf(const Estimate& estimate) {
  std::vector<Trajectory> paths{estimate.frames};
  const fs::path submaps = estimate.folder / run_file::kSubmaps;
  if (!fs::is_directory(submaps)) return paths;
  for (const auto& submap : fs::directory_iterator(submaps)) {
    const fs::path file = submap.path() / run_file::kFrames;
    if (!fs::is_regular_file(file)) continue;
    const std::string text = ReadFile(file);
    if (HoldsPoses(text)) paths.push_back(ParseTrajectory(text, file));
  }
  return paths;
}

std::vector<PoseError> ErrorsOf(const std::vector<Trajectory>& paths, const Truth& truth,
                                const GradingOptions& options) {
  TrajectoryErrorOptions how;
  how.max_time_gap = options.max_time_gap;
  std::vector<PoseError> all;
  for (const Trajectory& path : paths) {
    TrajectoryErrors errors = ComputeTrajectoryErrors(path, truth.trajectory, how);
    if (errors.status != TrajectoryStatus::kGood) continue;
    // Directions by the turn that fits them: positions along a straight way do not determine it.
    for (PoseError& pose : errors.poses) {
      pose.rotation_degrees = pose.own_rotation_degrees;
      all.push_back(pose);
    }
  }
  std::sort(all.begin(), all.end(), [](const PoseError& a, const PoseError& b) { return a.time < b.time; });
  return all;
}

const PoseError* FindAt(const std::vector<PoseError>& poses, double time, double gap) {
  const auto found = std::lower_bound(poses.begin(), poses.end(), time - gap,
                                      [](const PoseError& pose, double t) { return pose.time < t; });
  return found != poses.end() && found->time <= time + gap ? &*found : nullptr;
}

// The middle of what a frame sees, by the truth; 0 where that does not know.
double ViewDepth(const Truth& truth, int64_t frame) {
  std::vector<double> depths;
  if (const auto map = truth.source->LoadDepth(frame)) {
    constexpr size_t kStride = 29;
    for (size_t i = 0; i < map->Size(); i += kStride)
      if (map->Data()[i] > 0) depths.push_back(static_cast<double>(map->Data()[i]));
  } else if (const auto points = truth.sparse.find(frame); points != truth.sparse.end()) {
    for (const SparsePoint& point : points->second) depths.push_back(point.depth);
  }
  return depths.empty() ? 0 : Quantile(std::move(depths), 0.5);
}

}  // namespace

std::vector<JudgedFrame> JudgeFrames(const Estimate& estimate, const Truth& truth,
                                     const GradingOptions& options) {
  std::vector<JudgedFrame> frames;
  if (estimate.folder.empty() || truth.source == nullptr || truth.trajectory.empty()) return frames;
  const std::vector<PoseError> errors = ErrorsOf(PathsOf(estimate), truth, options);
  for (const RunFrameEvent& event : estimate.events) {
    // What has no word of its own at the end is left as it was told at once.
    const double at_last = event.off_at_last >= 0 ? event.off_at_last : event.off_at_once;
    JudgedFrame judged{event.frame, event.time, event.status, event.LastStatus(), event.off_at_once, at_last};
    if (judged.Placed()) {
      const PoseError* pose = FindAt(errors, event.time, options.max_time_gap);
      if (pose == nullptr) continue;
      judged.position_share = pose->translation;  // of the depth, once that is known
      judged.degrees = pose->rotation_degrees;
    }
    frames.push_back(judged);
  }
  std::vector<char> known(frames.size(), 1);
  ParallelFor(static_cast<int64_t>(frames.size()), options.threads, [&](int64_t i) {
    JudgedFrame& judged = frames[static_cast<size_t>(i)];
    if (!judged.Placed()) return;
    const double depth = ViewDepth(truth, judged.frame);
    known[static_cast<size_t>(i)] = depth > 0 ? 1 : 0;
    if (depth > 0) judged.position_share /= depth;
  });
  std::vector<JudgedFrame> kept;
  for (size_t i = 0; i < frames.size(); ++i)
    if (known[i] != 0) kept.push_back(frames[i]);
  return kept;
}

std::optional<StatusScore> ScoreStatuses(const std::vector<JudgedFrame>& frames, bool at_last) {
  StatusScore score;
  for (const JudgedFrame& frame : frames) {
    if (!frame.Placed()) {
      score.AddLost();
      continue;
    }
    const double said = at_last ? frame.said_at_last : frame.said_at_once;
    if (said < 0) continue;
    const FrameStatus status = at_last ? frame.last_status : frame.status;
    score.AddPlaced(said, status != FrameStatus::kWeak, frame.IsOff());
  }
  if (score.Placed() == 0) return std::nullopt;
  return score;
}

void SaveJudgedFrames(const fs::path& path, const std::vector<JudgedFrame>& frames) {
  std::string text = "frame,time,status,off_at_once,off_at_last,position_share,degrees,off\n";
  for (const JudgedFrame& frame : frames) {
    char line[200];
    std::snprintf(line, sizeof(line), "%lld,%.6f,%s,%.4g,%.4g,%.4g,%.4g,%d\n",
                  static_cast<long long>(frame.frame), frame.time, FrameStatusName(frame.status),
                  frame.said_at_once, frame.said_at_last, frame.position_share, frame.degrees,
                  frame.Placed() && frame.IsOff() ? 1 : 0);
    text += line;
  }
  WriteFileAtomically(path, text);
}

}  // namespace lumen
