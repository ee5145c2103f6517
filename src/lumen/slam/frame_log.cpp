#include "lumen/slam/frame_log.h"

#include <cmath>

namespace lumen {

std::optional<Rigid3> LocateFrame(const PlacedFrame& frame, const MapSnapshot& map) {
  const auto found = map.keyframes.find(frame.reference);
  if (found == map.keyframes.end()) return std::nullopt;
  const KeyframeState& state = found->second.state;
  const double growth = std::exp(state.log_scale - frame.reference_log_scale);
  return state.world_from_camera *
         Rigid3(frame.reference_from_camera.Rotation(), growth * frame.reference_from_camera.Translation());
}

std::vector<int> SubmapsOf(const MapSnapshot& map) {
  std::map<int, int> sizes;
  for (const auto& [id, keyframe] : map.keyframes) ++sizes[keyframe.submap];
  std::vector<int> submaps;
  submaps.reserve(sizes.size());
  for (const auto& [submap, size] : sizes) submaps.push_back(submap);
  return submaps;
}

int LargestSubmap(const MapSnapshot& map) {
  std::map<int, int> sizes;
  for (const auto& [id, keyframe] : map.keyframes) ++sizes[keyframe.submap];
  int largest = 0;
  int most = 0;
  for (const auto& [submap, size] : sizes) {
    if (size > most) {
      most = size;
      largest = submap;
    }
  }
  return largest;
}

Trajectory FrameTrajectory(const FrameLog& frames, const MapSnapshot& map, int submap) {
  Trajectory trajectory;
  for (const PlacedFrame& frame : frames) {
    const auto found = map.keyframes.find(frame.reference);
    if (found == map.keyframes.end() || found->second.submap != submap) continue;
    trajectory.push_back({frame.time, *LocateFrame(frame, map)});
  }
  frames.LetGo();
  return trajectory;
}

Trajectory KeyframeTrajectory(const MapSnapshot& map, int submap) {
  Trajectory trajectory;
  for (const auto& [id, keyframe] : map.keyframes) {
    if (keyframe.submap == submap)
      trajectory.push_back({keyframe.keyframe->frame->time, keyframe.state.world_from_camera});
  }
  return trajectory;
}

}  // namespace lumen
