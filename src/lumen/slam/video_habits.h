// What the front end learns of a video while it goes on: how far its depth is off, how much there usually is
// to be seen in a picture, how densely keyframes come. All of it follows from the frames in their order.
#pragma once

#include "lumen/slam/slam_options.h"

namespace lumen {

// How much a picture's descriptors differ from each other: their variance. Near a wall, in water and in blur
// they grow alike. What is usual depends on the model.
double DescriptorContrast(const Image<float>& descriptors, const Mask& mask);

class VideoHabits {
 public:
  VideoHabits(const KeyframeOptions& options, double depth_noise)
      : options_(options), depth_noise_(depth_noise) {}

  // `spread` is that of the logarithm of depth, between a frame and what the map says, over one frame.
  void NoteDepthSpread(double spread);
  // How far a matched point may lie off along its ray, as a share of depth.
  double DepthNoise() const { return depth_noise_; }

  void NoteContrast(double contrast);  // of a frame that was placed
  bool IsBlank(double contrast) const { return contrast < options_.blank_contrast * usual_contrast_; }

  void NoteFrame(bool is_keyframe);
  int KeyframesInARow() const { return in_a_row_; }
  // 0: keyframes are rare; 1: they come as densely as they may.
  double Crowding() const;

 private:
  KeyframeOptions options_;
  double depth_noise_;
  double usual_contrast_ = 0;
  int contrasts_ = 0;
  int in_a_row_ = 0;
  double rate_ = 0;  // keyframes a frame, lately
};

}  // namespace lumen
