// What may be believed of a run without knowing the truth: for any frame that was placed, the depth that
// several keyframes agree on.
#pragma once

#include <map>
#include <optional>

#include "lumen/io/run_folder.h"
#include "lumen/scene/depth_view.h"

namespace lumen {

class AgreedFrames {
 public:
  // Throws InputError where a run has no depth.
  explicit AgreedFrames(const std::filesystem::path& run);

  // Null: it was not placed.
  const Rigid3* PlaceOf(int64_t frame) const;
  // Depth along z through DepthCamera, in the run's unit; nothing where too little of the picture is agreed
  // on.
  std::optional<DepthImage> DepthOf(int64_t frame) const;
  const Camera& DepthCamera() const { return camera_; }
  double MedianDepth() const { return depth_; }
  int64_t Frames() const { return frames_; }  // that the run was given

 private:
  std::vector<DepthView> views_;
  std::map<int64_t, Rigid3> places_;
  Camera camera_;
  double depth_ = 1;    // the keyframes' median
  size_t content_ = 0;  // pixels that a keyframe's map has at most
  int64_t frames_ = 0;
};

}  // namespace lumen
