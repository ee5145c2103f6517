// Errors of depth maps (docs/evaluation.md): ARD and Threshold over the pixels where estimate and truth are
// both known, on the estimate's grid, averaged over maps.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lumen/geometry/camera.h"
#include "lumen/image/image.h"

namespace lumen {

inline constexpr std::array<double, 3> kDepthThresholds = {1.25, 1.25 * 1.25, 1.25 * 1.25 * 1.25};
inline constexpr int64_t kLeastValidPixels = 50;  // maps with fewer are skipped

// Takes the truth nearest at the estimate's pixel centres.
class TruthSampler {
 public:
  // Both show the same view: only the sizes differ.
  TruthSampler(int width, int height, int truth_width, int truth_height);
  // Each its own view from the same place, as where the estimate is of an undistorted cut-out.
  TruthSampler(const Camera& view, const Camera& truth_view);

  int TruthWidth() const { return truth_width_; }
  int TruthHeight() const { return truth_height_; }
  DepthImage Sample(ImageView<const float> truth) const;  // of the truth's size

 private:
  int width_, height_, truth_width_, truth_height_;
  std::vector<int64_t> source_;  // pixel of the truth per pixel of the estimate; -1: outside
};

struct DepthScores {
  double ard = 0;
  std::array<double, 3> within{};  // share of pixels within each of kDepthThresholds
  int64_t valid = 0;               // pixels compared
};

// Both on one grid; values that are not positive and finite are unknown. Nothing where fewer than
// kLeastValidPixels can be compared.
std::optional<DepthScores> ScoreDepth(ImageView<const float> estimate, ImageView<const float> truth,
                                      double scale);
// Median of truth / estimate, the frame's own scale; nothing as above.
std::optional<double> MedianDepthRatio(ImageView<const float> estimate, ImageView<const float> truth);

// The truth where a pixel lies within `reach` of a depth edge (neighbours that differ by more than a
// seventh), 0 elsewhere: what ScoreDepth takes to grade folds alone.
DepthImage NearEdges(ImageView<const float> truth, int reach = 2);

// Mean over maps, each map counting the same.
class DepthMean {
 public:
  void Add(const DepthScores& scores);
  int64_t Maps() const { return maps_; }
  DepthScores Mean() const;  // at least one map; `valid` is the sum

 private:
  DepthScores sum_;
  int64_t maps_ = 0;
};

}  // namespace lumen
