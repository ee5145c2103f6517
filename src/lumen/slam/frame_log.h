// Where each frame is: relative to its reference keyframe, in that keyframe's scale at the time, so that a
// frame follows its keyframe wherever mapping and loops move it.
#pragma once

#include <optional>

#include "lumen/base/cold_list.h"
#include "lumen/scene/map.h"
#include "lumen/scene/trajectory.h"

namespace lumen {

struct PlacedFrame {
  int64_t index = 0;
  double time = 0;
  KeyframeId reference = -1;  // -1: not placed
  Rigid3 reference_from_camera;
  double reference_log_scale = 0;
};
using FrameLog = ColdList<PlacedFrame>;

// The frame's pose by the present map; nothing if it was not placed.
std::optional<Rigid3> LocateFrame(const PlacedFrame& frame, const MapSnapshot& map);

// The sub-map with the most keyframes; the oldest of those.
int LargestSubmap(const MapSnapshot& map);
std::vector<int> SubmapsOf(const MapSnapshot& map);

Trajectory FrameTrajectory(const FrameLog& frames, const MapSnapshot& map, int submap);
Trajectory KeyframeTrajectory(const MapSnapshot& map, int submap);

}  // namespace lumen
