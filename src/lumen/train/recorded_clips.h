// Clips from recordings with truth: sequence folders or SAGE HDF5 files that have poses and depth. All frames
// are read once, at network size, and kept; a scene is a random stretch of one recording.
#pragma once

#include <filesystem>

#include "lumen/train/clip.h"

namespace lumen {

struct RecordedClipOptions {
  int places = 3, views = 4;  // as the simulator's clips
  int reach = 30;             // frames between a place and its views, up to
  bool held_out = false;      // the last tenth of each recording, kept for validation; else the rest
  int seed = 1;
};

class RecordedClipSource : public ClipSource {
 public:
  // Throws InputError, with one line, for a recording without poses or without depth.
  RecordedClipSource(const std::vector<std::filesystem::path>& recordings,
                     const RecordedClipOptions& options);

  int ClipsPerScene() const override { return 1; }
  int FramesPerClip() const override { return options_.places * options_.views; }
  std::vector<Clip> MakeScene(int64_t scene) const override;

 private:
  RecordedClipOptions options_;
  std::vector<Clip> recordings_;  // whole ones, overlaps not filled in
};

// Depth of a source's camera as the rectified view at half size shows it (nearest pixel; 0 = unknown).
DepthImage ResampleDepth(const DepthImage& depth, const Camera& source, const Camera& target);

}  // namespace lumen
