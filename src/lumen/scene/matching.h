// Matches between two frames by their descriptors: sampled pixels of one against all pixels of the other,
// kept where the way back ends close to where it began.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "lumen/base/config.h"
#include "lumen/image/image.h"

namespace lumen {

struct MatchOptions {
  int keypoints = 256;
  double cycle_distance = 2;  // pixels
  bool subpixel = false;

  void Describe(ConfigVisitor& visitor);
};

struct Match {
  Eigen::Vector2i source{0, 0};  // pixels at level 0
  Eigen::Vector2d target{0, 0};
  double weight = 1;
};

struct MatchSet {
  std::vector<Match> matches;  // those that passed the cycle check
  int candidates = 0;          // keypoints that were tried; fewer than asked for where the mask is small
};

// Distinct pixels of the mask, drawn at random; all of them if there are fewer.
std::vector<Eigen::Vector2i> SampleKeypoints(ImageView<const uint8_t> mask, int count, uint64_t seed);

// One frame's descriptors, laid out for being searched: a matrix of channels by valid pixels. A descriptor
// with numbers that are not finite is not valid.
class DescriptorIndex {
 public:
  DescriptorIndex(ImageView<const float> descriptors, ImageView<const uint8_t> mask);

  int NumPixels() const { return static_cast<int>(pixels_.size()); }
  // The nearest valid pixel (squared distance of descriptors) for each query descriptor; (-1, -1) if none is
  // valid.
  std::vector<Eigen::Vector2i> FindNearest(const std::vector<const float*>& queries) const;

 private:
  int channels_;
  int padded_;                           // columns, whole kernel calls
  std::vector<Eigen::Vector2i> pixels_;  // of the columns
  std::vector<float> columns_;           // [channels + 1][padded]; the last row holds |f|²
};

// A frame as matching sees it.
struct MatchFrame {
  ImageView<const float> descriptors;
  const DescriptorIndex* index = nullptr;
};
MatchSet MatchDescriptors(const MatchFrame& source, const std::vector<Eigen::Vector2i>& keypoints,
                          const MatchFrame& target, const MatchOptions& options = {});

}  // namespace lumen
