// Brings frames of any camera to the view the rest of Lumen works on: a unified camera with square pixels,
// 5:4, around the mask's content; a pinhole where the content is narrow, even pixels per angle where it is
// wide. The map is computed once; each frame is then resampled with an area filter, in two steps (whole boxes
// of source pixels, then a few bilinear samples of those).
#pragma once

#include "lumen/base/config.h"
#include "lumen/geometry/camera.h"
#include "lumen/image/image.h"

namespace lumen {

struct RectifierOptions {
  int width = 160;
  int height = 128;
  double max_half_angle_degrees = 85;  // off the lens's axis: what lies beyond is cut off
  double alpha = -1;                   // of the view's camera; -1: by how wide the content is

  void Describe(ConfigVisitor& visitor);
};

class Rectifier {
 public:
  // `content` is of the source's size. Throws InputError if it is empty, shows next to nothing, or holds too
  // much that no view can show.
  Rectifier(const Camera& source, const Mask& content, const RectifierOptions& options = {});

  const Camera& TargetCamera() const { return target_; }
  const Mask& TargetMask() const { return target_mask_; }
  RgbImage Apply(ImageView<const uint8_t> rgb) const;

 private:
  // One bilinear sample in the box-reduced image.
  struct Sample {
    int32_t x = 0, y = 0;
    float a = 0, b = 0;
  };

  void BuildMap(const Mask& content);
  void ComputeTargetMask(const Mask& content);

  Camera source_;
  Camera target_;
  double least_forward_;  // cosine of the largest angle off the axis that is shown
  Mask target_mask_;
  bool identity_ = false;
  int box_ = 1;                       // side of a box of source pixels
  int per_side_ = 1;                  // bilinear samples per target pixel and axis
  int first_row_ = 0, last_row_ = 0;  // of boxes that are used at all
  std::vector<Sample> samples_;  // per target pixel, per_side_² of them; x < 0: the lens does not see it
};

// The smallest 5:4 (width : height) view with square pixels that holds the content; the source itself,
// resized, where it already is one.
Camera MakeTargetCamera(const Camera& source, const Mask& content, const RectifierOptions& options);

// Where a lens at the same place shows what `from` has at a pixel; nothing where one of the two does not see
// it.
template <typename From, typename To>
std::optional<Eigen::Vector2d> SeenThrough(const From& from, const Eigen::Vector2d& uv, const To& to) {
  const auto ray = from.Unproject(uv);
  return ray ? to.Project(*ray) : std::nullopt;
}

// Depth along z of one camera as another at the same place shows it (nearest pixel; 0 = unknown).
DepthImage ResampleDepth(const DepthImage& depth, const Camera& source, const Camera& target);

// The view's α for content that reaches so far off the axis.
double AlphaForHalfAngle(double degrees);

}  // namespace lumen
