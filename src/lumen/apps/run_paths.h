// frames.tum and keyframes.tum while a run goes on. What is new is appended; since mapping goes on moving
// what was written before, all is written anew now and then, more and more seldom as it grows, and at once
// when the path gains or loses a piece because sub-maps were joined or split.
#pragma once

#include "lumen/io/run_writer.h"
#include "lumen/slam/front_end.h"

namespace lumen {

// When to write all anew: after a second, and then after twice as long each time, up to a minute.
class RewriteSchedule {
 public:
  static constexpr double kFirstSeconds = 1;
  static constexpr double kLongestSeconds = 60;

  explicit RewriteSchedule(double now) : next_(now + kFirstSeconds) {}
  // Whether it is time; if so, the next time is set.
  bool Due(double now);

 private:
  double interval_ = kFirstSeconds;
  double next_;
};

class RunPaths {
 public:
  RunPaths(RunWriter& writer, double now) : writer_(writer), schedule_(now) {}

  void Add(const FrameResult& result, const PlacedFrame& placed);
  // Brings the files up to date, by the map as it is.
  void Update(const MapSnapshot& map, double now);
  // Everything once more, and the sub-maps that are not in the path.
  void Finish(const MapSnapshot& map);

 private:
  // A frame, and where tracking saw it, for as long as its keyframe is on its way into the map.
  struct Tracked {
    PlacedFrame placed;
    Rigid3 world_from_camera;
    int submap = 0;
  };
  Trajectory FramesOf(const MapSnapshot& map, int submap, size_t first) const;
  bool Regrouped(const MapSnapshot& map);
  void Append(const MapSnapshot& map);
  void Rewrite(const MapSnapshot& map);

  RunWriter& writer_;
  RewriteSchedule schedule_;
  ColdList<Tracked> frames_;
  std::map<KeyframeId, int> submap_of_;  // as it was when the files were written last
  int submap_ = 0;                       // the one in the path
  size_t frames_written_ = 0;            // of frames_: in the path, or of another sub-map
  KeyframeId last_keyframe_ = -1;        // written, or of another sub-map
};

}  // namespace lumen
