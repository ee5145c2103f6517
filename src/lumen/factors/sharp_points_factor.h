// Points of one keyframe that were found again in others, to a fraction of a fine pixel (SP):
//   L = w Σ_p min_ρ [ Σ_j ρ_c(|π_j(e^ρ ray_p) − u_pj|²_Σ) + ω ρ_c((ρ − ln D(p))² / σ²) ]
// Each point has a depth of its own, which is found and eliminated inside: what the depth's basis cannot say
// does not bend the path. The basis is told, and tells, by the last term: a share ω of what independent
// points would weigh, since its errors are shared by many. Sees places relative to each other, and the
// source's code.
#pragma once

#include "lumen/base/config.h"
#include "lumen/factors/pair_variables.h"
#include "lumen/scene/frame.h"

namespace lumen {

struct SharpPointsOptions {
  double weight = 0.01;       // of a point
  double robust = 1;          // standard deviations of a sighting
  double depth_sigma = 0.05;  // of the logarithm of the basis's depth
  double depth_weight = 0.1;
  void Describe(ConfigVisitor& visitor);
};

struct PointSighting {
  int target = 0;                                      // which of the targets
  Eigen::Vector2d pixel{0, 0};                         // of its camera
  Eigen::Matrix2d root = Eigen::Matrix2d::Identity();  // RᵀR is the inverse of the pixel's covariance
};

struct SharpPoint {
  Eigen::Vector3d ray{0, 0, 1};  // at unit depth
  double average = 1;            // depth by the basis: average + bases · code
  Eigen::VectorXd bases = {};
  std::vector<PointSighting> sightings = {};
};

class SharpPointsFactor : public RelativeFactor {
 public:
  // The camera is that of all the fine pictures; targets without a sighting of any point are not allowed.
  SharpPointsFactor(const MapSide& source, const std::vector<MapSide>& targets, const UnifiedCamera& camera,
                    std::vector<SharpPoint> points, const SharpPointsOptions& options = {});

  double Error(const Values& values) const override;
  NormalBlock Linearize(const Values& values) const override;
  // Logarithm of a point's own depth over that of the basis.
  double OwnDepth(const Values& values, int point) const;

 private:
  struct State;
  struct Sum;
  struct Sight;
  State Resolve(const Values& values) const;
  std::optional<Sight> See(const State& state, const PointSighting& sighting,
                           const Eigen::Vector3d& here) const;
  double Solve(const State& state, const SharpPoint& point) const;
  double ErrorAt(const State& state, const SharpPoint& point, double log_depth) const;
  void Add(const State& state, int number, Sum& sum) const;

  MapSide source_;
  std::vector<MapSide> targets_;
  UnifiedCamera camera_;
  std::vector<SharpPoint> points_;
  SharpPointsOptions options_;
};

}  // namespace lumen
