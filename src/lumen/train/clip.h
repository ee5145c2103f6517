// What training looks at: clips. A clip is a handful of views of one scene through one camera, with true
// depth and pose; pairs (source, target, far) are drawn from it again and again with fresh augmentation.
// Where clips come from is behind `ClipSource`: the simulator, or recordings with truth.
#pragma once

#include <Eigen/Core>
#include <memory>
#include <string>
#include <vector>

#include "lumen/geometry/camera.h"
#include "lumen/geometry/rigid3.h"
#include "lumen/image/image.h"

namespace lumen {

struct ClipFrame {
  RgbImage image;    // of the networks' input size
  DepthImage depth;  // of their output size, half of it, in the camera's measure; 0 = unknown
  Rigid3 world_from_camera;
};

struct Clip {
  std::string name;
  UnifiedCamera camera;  // of the depth maps
  Mask mask;             // content, of the pictures' size
  std::vector<ClipFrame> frames;
  Eigen::MatrixXf overlap;  // (i, j): share of frame i's content that frame j sees
};

// Source and target see the same place, far does not. `far_clip_frame` < 0: this clip has no such frame, the
// far picture must come from another one.
struct PairIndex {
  int source = 0, target = 0;
  int far_frame = -1;
};

struct PairRules {
  double min_overlap = 0.6;  // of source and target, both ways
  double max_far_overlap = 0.25;
};

class ClipSource {
 public:
  virtual ~ClipSource() = default;
  // Clips come in scenes: what is dear to make (an anatomy, an opened file) is shared by a scene's clips.
  virtual int ClipsPerScene() const = 0;
  virtual int FramesPerClip() const = 0;
  // A pure function of the number; called from many threads at once.
  virtual std::vector<Clip> MakeScene(int64_t scene) const = 0;
};

// The mean of each 2×2 block of a depth map; unknown where one of the four is.
DepthImage HalveDepth(const DepthImage& depth);

// Of what is known; 1 where nothing is.
double MedianDepth(const DepthImage& depth);

// Share of `source`'s content, on a coarse grid, whose point is in the picture of `target` and not hidden
// there.
double ComputeOverlap(const Clip& clip, int source, int target);
void FillOverlaps(Clip& clip);

// All pairs a clip offers; far frames are those that see least of the source.
std::vector<PairIndex> ListPairs(const Clip& clip, const PairRules& rules);

}  // namespace lumen
