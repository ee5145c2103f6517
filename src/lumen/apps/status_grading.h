// Which frames of a run are truly off, and whether it said so.
#pragma once

#include "lumen/apps/grading.h"
#include "lumen/eval/status_score.h"

namespace lumen {

// A frame is off beyond either of these: a share of its view's median depth, and degrees.
inline constexpr double kOffShare = 0.1;
inline constexpr double kOffDegrees = 5;

struct JudgedFrame {
  int64_t frame = 0;
  double time = 0;
  FrameStatus status = FrameStatus::kLost, last_status = FrameStatus::kLost;  // at once, and at the end
  // How likely it is off, as was said at once and at the end; less than 0: not said.
  double said_at_once = -1, said_at_last = -1;
  // After its sub-map was aligned; of frames that were placed.
  double position_share = 0;
  double degrees = 0;

  bool Placed() const { return status != FrameStatus::kLost && status != FrameStatus::kSkipped; }
  bool IsOff() const { return position_share > kOffShare || degrees > kOffDegrees; }
};

// Every frame of a run that was placed and has a truth, and those that were not placed.
std::vector<JudgedFrame> JudgeFrames(const Estimate& estimate, const Truth& truth,
                                     const GradingOptions& options);

// By what was said at once, or at the end; empty if the run does not say.
std::optional<StatusScore> ScoreStatuses(const std::vector<JudgedFrame>& frames, bool at_last);

// frame,time,status,off_at_once,off_at_last,position_share,degrees,off
void SaveJudgedFrames(const std::filesystem::path& path, const std::vector<JudgedFrame>& frames);

}  // namespace lumen
