// Clips from the simulator: endless anatomy, wild looks, random cameras, masks and degradations. A scene is
// one anatomy; each of its clips has its own look, camera and place.
#pragma once

#include "lumen/base/config.h"
#include "lumen/train/clip.h"

namespace lumen {

struct SimClipOptions {
  int clips_per_scene = 5;  // an anatomy costs about as much as thirty frames
  int places = 3;           // places in the anatomy per clip
  int views = 4;            // views per place, which overlap
  int width = 160, height = 128;
  double wildness = 1;    // upper bound; each clip draws its own
  double varied = 0.5;    // share of scenes whose anatomy is bent out of its family
  double degraded = 0.2;  // share of frames with one of the simulator's degradations
  int seed = 1;

  void Describe(ConfigVisitor& visitor);
};

class SimClipSource : public ClipSource {
 public:
  explicit SimClipSource(const SimClipOptions& options) : options_(options) {}

  int ClipsPerScene() const override { return options_.clips_per_scene; }
  int FramesPerClip() const override { return options_.places * options_.views; }
  std::vector<Clip> MakeScene(int64_t scene) const override;

 private:
  SimClipOptions options_;
};

}  // namespace lumen
