// One input through SLAM into a run's folder: what `lumen run` and the studies do.
#pragma once

#include <atomic>

#include "lumen/apps/app_config.h"
#include "lumen/io/frame_source.h"
#include "lumen/scene/map.h"
#include "lumen/slam/front_end.h"

namespace lumen {

// Somebody who watches a run. Every call must return at once: the run waits for it.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  // `truth` is what the input knows of it, mostly nothing.
  virtual void OnStart(const std::shared_ptr<const View>& view, const Trajectory& truth) = 0;
  virtual void OnPicture(const InputFrame& frame) = 0;  // on its way in
  virtual void OnFrame(const FrameResult& result, const PlacedFrame& placed,
                       const std::shared_ptr<const MapSnapshot>& map) = 0;
  // What goes on after the last frame, in words, with the map as it is before.
  virtual void OnPhase(const std::string& what) = 0;
};

struct RunOptions {
  std::filesystem::path input;
  std::filesystem::path output;
  InputOptions selection;
  std::string model;       // weights; empty: look in the usual places
  std::string vocabulary;  // empty: the one beside the model, if any
  std::string device = "auto";
  std::filesystem::path map;   // an earlier run, or its map, to find oneself in and to extend
  bool deterministic = false;  // one frame after the other, the same bytes every time
  bool realtime = false;       // a recording paced as if live: frames that come too late are dropped
  bool refine = false;         // go on mapping after the last frame
  AppConfig config;
  RunObserver* observer = nullptr;
};

struct RunOutcome {
  int64_t frames = 0;
  int64_t placed = 0;
  int64_t keyframes = 0;
  bool interrupted = false;
  std::shared_ptr<const MapSnapshot> map;
};

// Throws InputError for input that cannot be used (no frame of it can be placed included) and OutputError
// for a disk that does not take the results; what was written till then stays. `stop` ends the run early.
RunOutcome RunSequence(const RunOptions& options, const std::atomic<bool>& stop);

}  // namespace lumen
