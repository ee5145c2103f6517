// Clips from recordings with truth: sequence folders or SAGE HDF5 files with poses and depth, dense or at
// single places. All frames that have both are read once, at network size, and kept; poses are found by time.
// A scene is a few clips, each of places anywhere in one recording and frames near them; place by place all
// frames are shown before one is shown again.
#pragma once

#include <filesystem>

#include "lumen/base/random.h"
#include "lumen/train/clip.h"

namespace lumen {

struct RecordedClipOptions {
  int clips = 1;              // a scene
  int places = 3, views = 4;  // as the simulator's clips
  int reach = 30;             // frames between a place and its views, up to
  double point_share = 0.9;   // of what a frame's depth teaches, by its points where it has dense depth, too
  enum class Part { kWhole, kHeldOut, kRest } part = Part::kRest;  // the last tenth is held out
  int width = 160, height = 128;
  int seed = 1;
};

class RecordedClipSource : public ClipSource {
 public:
  // Throws InputError, with one line, for a recording without poses or without depth.
  RecordedClipSource(const std::vector<std::filesystem::path>& recordings,
                     const RecordedClipOptions& options);

  int ClipsPerScene() const override { return options_.clips; }
  int FramesPerClip() const override { return options_.places * options_.views; }
  std::vector<Clip> MakeScene(int64_t scene) const override;
  int64_t ScenesToSeeAll() const override;

 private:
  // A clip's recording, and which of its clips within a round it is.
  struct Turn {
    size_t recording = 0;
    int64_t ordinal = 0;
  };
  Clip MakeClip(int64_t number) const;
  void AddPlace(const Clip& whole, int64_t place, Random random, Clip& clip) const;

  RecordedClipOptions options_;
  std::vector<Clip> recordings_;  // whole ones, overlaps not filled in
  std::vector<Turn> round_;       // the order of clips; every round is the same
};

// All of a recording that can be learnt from. Frames without a pose or any depth are left out, which is said.
Clip LoadRecording(const std::filesystem::path& path, const RecordedClipOptions& options);

}  // namespace lumen
