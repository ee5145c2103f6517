// Batches of pairs on the training device: a ring of clips kept there, and pairs drawn from it with fresh
// augmentation. What is drawn depends on the seed and the step alone.
#pragma once

#include <torch/torch.h>

#include <optional>

#include "lumen/base/config.h"
#include "lumen/base/random.h"
#include "lumen/train/clip.h"
#include "lumen/train/lens.h"

namespace lumen {

// The frames of a batch as the networks see them. Geometry stays in the unrotated picture: `angle` says how
// far a picture was turned about its middle before the network, so that maps can be read at turned places.
struct ViewBatch {
  torch::Tensor image;   // (B, 3, H, W), turned and augmented
  torch::Tensor angles;  // (B, 1, H, W), turned: how far off the axis each pixel looks
  torch::Tensor mask;    // (B, 1, H, W), turned
  torch::Tensor angle;   // (B)

  // What the depth network takes: the picture and the lens.
  torch::Tensor WithAngles() const { return torch::cat({image, angles}, 1); }
};

struct PairBatch {
  ViewBatch source, target, far_view;
  torch::Tensor camera;                      // (B, 5): fx, fy, cx, cy, alpha of the maps
  torch::Tensor source_depth, target_depth;  // (B, 1, H/2, W/2), the source's median is 1; 0 = unknown
  torch::Tensor source_weight,
      target_weight;           // (B, 1, H/2, W/2): what each pixel's depth counts, where known
  torch::Tensor source_exact;  // (B, 1, H/2, W/2): 1 where depth may say which pixels belong together
  torch::Tensor source_mask, target_mask;  // (B, 1, H/2, W/2), unrotated content
  torch::Tensor rotation, translation;     // target_from_source: (B, 3, 3), (B, 3)
  torch::Tensor target_scale;              // (B): what the target's depth is divided by to have median 1
  torch::Tensor far_weight;                // (B): 1 where the far view is known to show another place
  int64_t Size() const { return camera.size(0); }
};

struct AugmentationOptions {
  double photometric = 1;      // strength; 0 = none
  double turned = 0.7;         // share of pairs turned by any angle
  double relative_roll = 0.8;  // radians between source and target on top of their own
  double masked = 0.5;         // share with a random circular mask

  void Describe(ConfigVisitor& visitor);
};

class ClipStore {
 public:
  // Keeps the latest `capacity` clips.
  ClipStore(const torch::Device& device, int capacity, int frames_per_clip, int width, int height);

  // A clip that offers no pair takes its place all the same, so that the ring's content follows from the
  // clips' numbers alone.
  void Add(const Clip& clip, const PairRules& rules);
  int Size() const { return static_cast<int>(slots_.size()); }
  bool HasPairs() const;
  PairBatch Draw(int batch, const AugmentationOptions& options, Random random) const;

 private:
  struct Slot {
    std::string subject;
    std::vector<PairIndex> pairs;
    std::vector<Rigid3> world_from_camera;
    std::vector<float> median;
    UnifiedCamera camera;
  };

  // A slot of another subject than this one's; none where a few draws find none.
  std::optional<int64_t> DrawOtherSubject(const std::string& subject, Random& random) const;
  // The slot of the clip that is the k-th oldest.
  int64_t SlotByAge(int64_t k) const { return (added_ - Size() + k) % capacity_; }

  torch::Device device_;
  int capacity_, frames_;
  int64_t added_ = 0;
  torch::Tensor images_, masks_, depths_, weights_, exact_;
  std::vector<Slot> slots_;
};

// Turns pictures (B, C, H, W) about their middle by angles (B); `nearest` for masks and depths.
torch::Tensor TurnImages(const torch::Tensor& images, const torch::Tensor& angle, bool nearest);
// Where pixels (B, K, 2) of maps of this size go when their picture is turned.
torch::Tensor TurnPixels(const torch::Tensor& pixels, const torch::Tensor& angle, int64_t width,
                         int64_t height);
// Content at the maps' size: where all four of a block are.
torch::Tensor HalveMask(const torch::Tensor& mask);

// The true warp of a pair: where each source pixel lies in the target.
struct TrueWarp {
  torch::Tensor pixels;   // (B, H, W, 2)
  torch::Tensor visible;  // (B, 1, H, W): seen by the target, not hidden, depth known
  torch::Tensor points;   // (B, H·W, 3): the pixels' points in the target's frame
};
TrueWarp WarpByTruth(const PairBatch& batch);

}  // namespace lumen
