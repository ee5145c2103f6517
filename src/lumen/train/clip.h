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
  // What recordings say besides; empty where every known pixel is as good as any other.
  Image<float> weight = {};  // of each pixel's depth in what is learnt from it
  Mask exact = {};           // where depth is good enough to say which pixels of two frames belong together
  bool sparse = false;       // depth is known at single places only
  int64_t number = -1;       // in the recording; a pair is never of one frame
};

struct Clip {
  std::string name;
  std::string subject;   // clips of one subject may show the same place, those of two never do
  UnifiedCamera camera;  // of the depth maps
  Mask mask;             // content, of the pictures' size
  std::vector<ClipFrame> frames;
  Eigen::MatrixXf overlap;  // (i, j): share of frame i's content that frame j sees
};

// Source and target see the same place, far does not. `far_frame` < 0: this clip has no such frame, the far
// picture must come from another subject's.
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
  // After how many scenes everything there is was shown once; 0: there is no end to it.
  virtual int64_t ScenesToSeeAll() const { return 0; }
};

// Scenes of two sources in turn, as many of the second as `share` says. Both make clips alike.
class MixedClipSource : public ClipSource {
 public:
  MixedClipSource(std::shared_ptr<const ClipSource> first, std::shared_ptr<const ClipSource> second,
                  double share);

  int ClipsPerScene() const override { return first_->ClipsPerScene(); }
  int FramesPerClip() const override { return first_->FramesPerClip(); }
  std::vector<Clip> MakeScene(int64_t scene) const override;
  int64_t ScenesToSeeAll() const override;

 private:
  // Scenes of the second source before this one.
  int64_t SecondBefore(int64_t scene) const;

  std::shared_ptr<const ClipSource> first_, second_;
  double share_;
};

// One of several parts of a source, none of whose scenes is another's. Parts take turns in a shifting order,
// so that each gets its share of whatever alternates.
class ShardedClipSource : public ClipSource {
 public:
  ShardedClipSource(std::shared_ptr<const ClipSource> whole, int shard, int shards);

  int ClipsPerScene() const override { return whole_->ClipsPerScene(); }
  int FramesPerClip() const override { return whole_->FramesPerClip(); }
  std::vector<Clip> MakeScene(int64_t scene) const override { return whole_->MakeScene(NumberOf(scene)); }
  int64_t ScenesToSeeAll() const override;
  // Which of the whole's scenes is this one.
  int64_t NumberOf(int64_t scene) const { return scene * shards_ + (shard_ + scene) % shards_; }

 private:
  std::shared_ptr<const ClipSource> whole_;
  int shard_, shards_;
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
