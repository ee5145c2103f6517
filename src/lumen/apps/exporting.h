// What `lumen export` takes out of a run: its placed frames, undistorted pictures of them from the input (or
// from the run's own keyframes, where the input is gone), depth on the same grid, and matched points.
#pragma once

#include "lumen/io/run_folder.h"
#include "lumen/io/scene_export.h"

namespace lumen {

struct PlacedRunFrame {
  int64_t frame = 0;
  double time = 0;
  Rigid3 world_from_camera;
  bool keyframe = false;
  std::string status, reason;
};
// In order of time; the frame's number is found by its time in events.jsonl.
std::vector<PlacedRunFrame> ListPlacedFrames(const RunFolder& run);

struct SceneOptions {
  bool all_frames = false;  // pictures and places of every placed frame; points and depth are the keyframes'
  bool pictures = true;     // write them: OUT/images/000042.png
  bool depth = false;  // OUT/depth/000042.png, 16 bits, a thousandth of the map's unit a step; 0 = unknown
  bool input = true;   // pictures are the input's, as long as it can be read; the run's own otherwise
};
// Throws InputError where a run has no keyframe with depth, or nothing to see.
ExportedScene ExportScene(const RunFolder& run, const SceneOptions& options,
                          const std::filesystem::path& out);

}  // namespace lumen
