// What SLAM works on: a frame as it comes in, a frame with its features, a keyframe with its depth
// basis. All are immutable once made and shared as shared_ptr<const …>; what is estimated about a
// keyframe lives apart, in KeyframeState.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "lumen/geometry/camera.h"
#include "lumen/geometry/rigid3.h"
#include "lumen/geometry/sim3.h"
#include "lumen/image/image.h"

namespace lumen {

// One image of a video at network size, as the view's camera sees it: square pixels.
struct InputFrame {
  int64_t index = 0;
  double time = 0;  // seconds
  RgbImage image;
  // Makes the same view at a whole multiple of the image's size, where the video shows more than the image
  // holds; null: it does not. Keyframes alone need it.
  std::function<RgbImage()> fine = nullptr;
};

// One level of the feature map F with its spatial derivatives, interleaved per pixel as
// [F (C) | dF/dx (C) | dF/dy (C)], so that a warped sample reads one run of memory.
struct FeatureLevel {
  Image<float> values;  // 3 C channels, or C without derivatives
  bool has_gradients = true;
  int FeatureChannels() const { return has_gradients ? values.Channels() / 3 : values.Channels(); }
};

// Dense appearance of a frame: feature map per level (level 0 is the finest, halved each time) and
// the descriptor map at level 0. Packed, as keyframes keep it, it holds the finest map alone, a third of the
// memory in all: the other levels and the derivatives follow from it, bit for bit.
struct FeaturePyramid {
  std::vector<FeatureLevel> levels;
  Image<float> descriptors;  // C channels
  int packed_levels = 0;     // how many levels there were before packing; 0: not packed

  bool IsPacked() const { return packed_levels > 0; }
  int NumLevels() const { return IsPacked() ? packed_levels : static_cast<int>(levels.size()); }
};

// The feature map itself at level 0, without derivatives.
Image<float> FinestFeatures(const FeaturePyramid& features);
FeaturePyramid PackFeatures(const FeaturePyramid& features);
// The finest `levels` of a packed pyramid, without descriptors; `mask` as for MakeFeaturePyramid.
FeaturePyramid UnpackFeatures(const FeaturePyramid& packed, const Mask& mask, int levels);

// Levels with their gradients from a feature map at level 0; `mask` is the video's content there.
FeaturePyramid MakeFeaturePyramid(Image<float> features, Image<float> descriptors, const Mask& mask,
                                  int levels);

// Depth of a frame as the paper writes it: D = s (D̄ + Σ c_i D̂_i), s = exp(log_scale). Depth is the view's own
// measure (UnifiedCamera::Depth), which for a pinhole is z.
struct DepthBasis {
  Image<float> average;   // D̄, one channel
  Image<float> bases;     // D̂, B channels interleaved
  float mean_square = 0;  // mean of D̄² over the mask: what robust thresholds are measured in

  int NumBases() const { return bases.Empty() ? 0 : bases.Channels(); }
  float DepthAt(int x, int y, double log_scale, const Eigen::VectorXd& code) const;
};

// Builds a basis, computing mean_square over the mask.
DepthBasis MakeDepthBasis(Image<float> average, Image<float> bases, ImageView<const uint8_t> mask);
DepthImage ComputeDepth(const DepthBasis& basis, double log_scale, const Eigen::VectorXd& code);

// What all frames of one video share: the camera at feature resolution (level 0) and two masks there.
struct View {
  UnifiedCamera camera;
  Mask mask;         // content
  Mask eroded_mask;  // content away from the border: where samples and matches are taken
};

// A mask of the input frames at the features' size: content where all four fine pixels are.
Mask FeatureMask(ImageView<const uint8_t> input_mask);
// From the camera and mask of the input frames, which are twice the size of the feature maps. A pixel is
// content where all four of its fine ones are. `erosion` pixels are taken off for the eroded mask.
std::shared_ptr<const View> MakeView(const Camera& input_camera, const Mask& input_mask, int erosion = 6);

// Depth along z, as files and the simulator have it, in the measure of a view's camera of its size, and back.
// 0 is unknown and stays so.
DepthImage ViewDepthOfZ(DepthImage z, const UnifiedCamera& camera);
DepthImage ZOfViewDepth(DepthImage depth, const UnifiedCamera& camera);

struct Frame {
  int64_t index = 0;
  double time = 0;
  RgbImage image;
  FeaturePyramid features;
  std::shared_ptr<const View> view;
};

// The same frame with packed features, and with all levels ready; the frame itself if it is so already.
std::shared_ptr<const Frame> PackFrame(const std::shared_ptr<const Frame>& frame);
std::shared_ptr<const Frame> UnpackFrame(const std::shared_ptr<const Frame>& frame);

struct Keyframe {
  std::shared_ptr<const Frame> frame;
  DepthBasis depth;
  RgbImage fine = {};  // the picture as finely as the video shows it, on the disk; empty: no finer than it is
};

// What is left of a keyframe that nothing is compared with any more, on the disk: its pictures, and its depth
// by this code as the average, without bases.
std::shared_ptr<const Keyframe> KeepDepthOnly(const Keyframe& keyframe, const Eigen::VectorXd& code);

// How large the bases are beside the average depth, squared: what a code of one adds, as a share.
double RelativeBasisSize(const Keyframe& keyframe);

struct KeyframeState {
  Rigid3 world_from_camera;
  double log_scale = 0;
  Eigen::VectorXd code;
};

// A keyframe's place and scale as one: what takes its own unit to the world; and back.
Sim3 PlaceOf(const KeyframeState& state);
KeyframeState StateAt(const Sim3& place, Eigen::VectorXd code);

}  // namespace lumen
