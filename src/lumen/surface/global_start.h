// Where a registration may start when nothing is known: local shape (fast point feature histograms, Rusu
// 2009) at several scales proposes matches, pairs of oriented points that agree on distance and angles
// propose similarities, and those that lay most of the surface onto the model are kept.
#pragma once

#include <atomic>
#include <functional>

#include "lumen/geometry/sim3.h"
#include "lumen/surface/mesh_tools.h"

namespace lumen {

struct GlobalStartOptions {
  double least_scale = 0, most_scale = 0;  // of model_from_surface; 0: by the two extents
  double scale_step = 1.25;                // between hypotheses
  double feature_radius = 0.4;             // in the surface's own radius
  int matches = 3;                         // per point
  int trials = 1000000;                    // per scale
  int kept = 24;                           // per scale
  int near_kept = 40;                      // around a guess
  uint64_t seed = 1;
  // How believable a start is for other reasons, 0 to 1: scores are multiplied by it.
  std::function<double(const Sim3&)> weigh = {};
  // What cannot be, asked of every proposal: must be quick.
  std::function<bool(const Sim3&)> possible = {};
  const std::atomic<bool>* stop = nullptr;  // once it is set, what was found so far is all
};

struct StartCandidate {
  Sim3 model_from_surface;
  double score = 0;  // share of the surface's points that lie on the model
};

constexpr size_t kMostStarts = 160;
// `model` in a few thousand points for features and matching, `dense` in more for scoring. Best first, at
// most kMostStarts.
std::vector<StartCandidate> FindStarts(const SurfacePoints& surface, const SurfacePoints& model,
                                       const SurfacePoints& dense, const GlobalStartOptions& options,
                                       int threads);

// How far a guess may be off.
struct GuessRange {
  double degrees = 20;
  double distance = 15;  // in the model's unit
  double scale = 1.35;   // a factor, up or down
};
// Starts around a guess: many are drawn from its range, those that lay most of the surface onto the model are
// kept, the guess itself among them.
std::vector<StartCandidate> FindStartsNear(const SurfacePoints& surface, const SurfacePoints& dense,
                                           const Sim3& guess, const GuessRange& range,
                                           const GlobalStartOptions& options);

// A histogram of how normals and directions turn around each point.
using ShapeFeature = Eigen::Matrix<float, 33, 1>;
std::vector<ShapeFeature> ComputeShapeFeatures(const SurfacePoints& points, double radius, int threads);

}  // namespace lumen
