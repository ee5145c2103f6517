#include "lumen/apps/run_paths.h"

#include <algorithm>

namespace lumen {

namespace {

// Keyframes enter the map in the order of their numbers. One with a lower number that is not there was taken
// out again, and its frames with it.
bool OnItsWay(KeyframeId id, const MapSnapshot& map) {
  return id >= 0 && (map.keyframes.empty() || id > map.keyframes.rbegin()->first);
}

Trajectory KeyframesAfter(const MapSnapshot& map, int submap, KeyframeId last) {
  Trajectory trajectory;
  for (auto it = map.keyframes.upper_bound(last); it != map.keyframes.end(); ++it) {
    if (it->second.submap == submap)
      trajectory.push_back({it->second.keyframe->frame->time, it->second.state.world_from_camera});
  }
  return trajectory;
}

}  // namespace

bool RewriteSchedule::Due(double now) {
  if (now < next_) return false;
  interval_ = std::min(2 * interval_, kLongestSeconds);
  next_ = now + interval_;
  return true;
}

void RunPaths::Add(const FrameResult& result, const PlacedFrame& placed) {
  frames_.push_back({placed, result.track.world_from_camera, result.submap});
  if (placed.reference >= 0) submap_of_.try_emplace(placed.reference, result.submap);
}

Trajectory RunPaths::FramesOf(const MapSnapshot& map, int submap, size_t first) const {
  Trajectory trajectory;
  for (size_t i = first; i < frames_.size(); ++i) {
    const Tracked& frame = frames_[i];
    const auto found = map.keyframes.find(frame.placed.reference);
    if (found != map.keyframes.end()) {
      if (found->second.submap == submap)
        trajectory.push_back({frame.placed.time, *LocateFrame(frame.placed, map)});
    } else if (OnItsWay(frame.placed.reference, map) && frame.submap == submap) {
      trajectory.push_back({frame.placed.time, frame.world_from_camera});
    }
  }
  if (first == 0) frames_.LetGo();
  return trajectory;
}

// Whether any keyframe is in another sub-map than it was, or the path is that of another one now.
bool RunPaths::Regrouped(const MapSnapshot& map) {
  bool regrouped = false;
  for (const auto& [id, keyframe] : map.keyframes) {
    const auto [known, is_new] = submap_of_.try_emplace(id, keyframe.submap);
    regrouped |= std::exchange(known->second, keyframe.submap) != keyframe.submap;
  }
  return LargestSubmap(map) != submap_ || regrouped;
}

void RunPaths::Update(const MapSnapshot& map, double now) {
  const bool regrouped = Regrouped(map);
  if (schedule_.Due(now) || regrouped) {
    Rewrite(map);
  } else {
    Append(map);
  }
}

void RunPaths::Append(const MapSnapshot& map) {
  writer_.AppendTrajectories(FramesOf(map, submap_, frames_written_),
                             KeyframesAfter(map, submap_, last_keyframe_));
  frames_written_ = frames_.size();
  if (!map.keyframes.empty()) last_keyframe_ = map.keyframes.rbegin()->first;
}

void RunPaths::Rewrite(const MapSnapshot& map) {
  submap_ = LargestSubmap(map);
  writer_.WriteTrajectories(FramesOf(map, submap_, 0), KeyframeTrajectory(map, submap_));
  frames_written_ = frames_.size();
  if (!map.keyframes.empty()) last_keyframe_ = map.keyframes.rbegin()->first;
}

void RunPaths::Finish(const MapSnapshot& map) {
  Rewrite(map);
  for (const int submap : SubmapsOf(map)) {
    if (submap == submap_) continue;
    writer_.WriteSubmap(submap, FramesOf(map, submap, 0), KeyframeTrajectory(map, submap));
  }
}

}  // namespace lumen
