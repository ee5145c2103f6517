// Points of a video whose frames have places: pixels matched between frames that stand apart, each put where
// the rays of most of them meet. What they say of depth comes from places and matches alone, not from what
// the networks take depth to be.
#pragma once

#include <functional>
#include <optional>

#include "lumen/io/sparse_depth.h"
#include "lumen/network/weights.h"
#include "lumen/scene/frame.h"

namespace lumen {

// Frames in order, as the view sees them; `place` is null for those without one.
struct PlacedFrames {
  int64_t count = 0;
  std::function<RgbImage(int64_t)> image;
  std::function<const Rigid3*(int64_t)> place;
};

struct TriangulationOptions {
  int keypoints = 1200;  // a frame
  int partners = 10;     // other frames that each is matched with
  int window = 40;       // frames before and after among which these are found
  int least_views = 4;
  double least_share = 0.6;      // of the frames in which a pixel was matched
  double inlier = 0.8;           // pixels of the maps
  double most_uncertain = 0.04;  // of the depth, by how the rays meet
};

// A ray's match in another frame.
struct RayMatch {
  Rigid3 other_from_source;
  Eigen::Vector2d pixel;
};
struct TriangulatedDepth {
  double depth = 0;  // in the camera's measure
  int views = 0;
  double error = 0;        // pixels, rms over those
  double uncertainty = 0;  // of the depth, as a share
};
// Nothing where too few matches agree. `typical` is about how far things are.
std::optional<TriangulatedDepth> TriangulateRay(const UnifiedCamera& camera, const Eigen::Vector2d& pixel,
                                                const std::vector<RayMatch>& matches, double typical,
                                                const TriangulationOptions& options);

// Pixels are those of the frames, depth lies along z in the places' unit. `depth` is about how far things
// are.
SparseDepth TriangulatePoints(const Model& model, const Camera& camera, const Mask& mask,
                              const PlacedFrames& frames, double depth,
                              const TriangulationOptions& options = {});

}  // namespace lumen
