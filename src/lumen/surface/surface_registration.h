// A surface from a run, registered to a model of the anatomy by a similarity: from nothing, or from a guess.
// Many starts are refined coarsely, the best of them finely; the outcome says how much of the surface lies on
// the model, how far from it, and which motions the surfaces' shapes leave free.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lumen/base/config.h"
#include "lumen/geometry/drifting_similarity.h"
#include "lumen/surface/constraint.h"
#include "lumen/surface/global_start.h"
#include "lumen/surface/mesh_tools.h"
#include "lumen/surface/registration_hints.h"

namespace lumen {

struct SurfaceRegistrationOptions {
  int coarse_points = 450;
  int fine_points = 6000;
  double match_distance = 3;    // beyond it (or a tenth of the surface's radius) a point is not matched; mm
  double least_matched = 0.65;  // share of the surface: below it nothing is registered
  double least_visible = 0.03;  // see Constraint; below it a motion is free
  double guess_degrees = 20, guess_distance = 15, guess_scale = 1.35;
  double least_scale = 0, most_scale = 0;  // 0: by the two extents
  double drift = 0.08;  // how much a map's scale is expected to drift over its radius; 0: it does not

  void Describe(ConfigVisitor& visitor);
};

enum class SurfaceRegistrationStatus {
  kRegistered,
  kTooSmall,       // one of the two has hardly any triangles, or none with an area
  kNotRegistered,  // too little of the surface lies on the model, or as much does elsewhere
};

struct SurfaceRegistration {
  SurfaceRegistrationStatus status = SurfaceRegistrationStatus::kTooSmall;
  // The surface's place. A monocular map's scale drifts along the path, which a similarity that must fit the
  // whole surface pays for by sliding; so the drift that the model shows is taken out. The similarity, the
  // one for cameras, is the nearest to that over the surface and the places it was seen from.
  DriftingSimilarity placement;
  Sim3 model_from_surface;
  // Of the placement over the places the surface was seen from, relative to the similarity's.
  double least_scale = 0, most_scale = 0;
  double residual_mean = 0, residual_median = 0, residual_p95 = 0;  // of the matched points, at `placement`
  double similarity_residual_mean = 0;  // at `model_from_surface`, the drift left in
  double all_residual_mean =
      0;                     // the same of all points, matched or not, to whatever is nearest: the paper's
  double matched_share = 0;  // of the surface as far as it is trusted (attribute "confidence")
  // How far apart its more and its less trusted half would lie, each by itself; none where too little matched
  // or all is trusted alike.
  std::optional<double> discord;
  // 68 % of the measured points lie within so many of their sigmas; none where too few were measured.
  std::optional<double> misfit;
  double runner_up = 0;  // cost of the best other answer relative to this one's; 0: there was none
  // The same of its best neighbour along the motions that show little, a tube's next ring; 0: there is none.
  double neighbour = 0;
  bool ambiguous = false;
  bool confident = false;
  std::vector<Constraint> constraints;  // the seven, least visible first
  // Of the surface where it lies: what the constraints' turns and growth are about, in the model's unit.
  Eigen::Vector3d centre = Eigen::Vector3d::Zero();
  double radius = 0;
  std::vector<std::string> doubts;  // why it is not confident, in words
};

// `guess`: model_from_surface, roughly. Triangles of both should face the air; if the model's face the other
// way this is found out. A model of several parts, a CT's air spaces, is searched part by part.
SurfaceRegistration RegisterSurface(const TriangleMesh& surface, const TriangleMesh& model,
                                    const std::optional<Sim3>& guess,
                                    const SurfaceRegistrationOptions& options, int threads,
                                    const RegistrationHints& hints = {});

// How far a place that moves with the surface may be off, by the constraints alone: the standard deviation of
// where it lies, all directions together.
double PlaceSigma(const SurfaceRegistration& registration, const Eigen::Vector3d& place);

// The surface where it belongs.
TriangleMesh PlaceSurface(TriangleMesh surface, const DriftingSimilarity& model_from_surface);

}  // namespace lumen
