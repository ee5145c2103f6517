#include "lumen/surface/similarity_icp.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace lumen {

using Eigen::Matrix3d;
using Eigen::Vector3d;

namespace {

// The unknowns are (v, w, log s) about the surface's centre, and the drift where it is asked for.
constexpr int kSimilarity = 7, kDrifting = 10;
constexpr double kLeastNoise = 0.01;  // of a surface, in its radius
constexpr double kMostDrift = 3;      // times what is expected

template <int N>
struct Step {
  Eigen::Matrix<double, N, N> information = Eigen::Matrix<double, N, N>::Zero();
  Eigen::Matrix<double, N, 1> gradient = Eigen::Matrix<double, N, 1>::Zero();
  double matched = 0, cost = 0, weight = 0;
  double squared = 0;  // distance across the wall, of the matches as far as they are believed
};

struct Linearisation {
  DriftingSimilarity model_from_surface;
  Vector3d centre;  // in the model's frame: motions about it are least entangled
  double reach;
};

}  // namespace

PlacedPoint PlacePoint(const DriftingSimilarity& model_from_surface, const SurfacePoints& surface, size_t i) {
  const Sim3 there = model_from_surface.At(surface.seen_from[i]);
  return {there * surface.points[i], there.Rotation() * surface.normals[i]};
}

namespace {

template <int N>
void AddPoint(const SurfacePoints& surface, size_t i, const TriangleTree& model, const Linearisation& at,
              const IcpOptions& options, Step<N>& step) {
  using Jacobian = Eigen::Matrix<double, 3, N>;
  const double weight = surface.weights[i];
  step.weight += weight;
  const auto [p, n] = PlacePoint(at.model_from_surface, surface, i);
  const double reach_squared = at.reach * at.reach;
  const auto hit = model.FindLikeliest(p, n, 0.5 * reach_squared, at.reach);
  if (!hit) {
    step.cost += weight;
    return;
  }
  step.matched += weight;
  const double relative = hit->cost / reach_squared;
  step.cost += weight * relative * (2 - relative);
  const double trust = weight * (1 - relative) * (1 - relative);
  const double along = 1 / (options.along_wall * options.along_wall);
  const Matrix3d across = hit->normal * hit->normal.transpose();
  const Matrix3d certainty = across + along * (Matrix3d::Identity() - across);
  step.squared += trust * std::pow(hit->normal.dot(p - hit->point), 2);
  Jacobian by_position;
  by_position.template leftCols<3>().setIdentity();
  by_position.template middleCols<3>(3) = -Hat(p - at.centre);
  by_position.col(6) = p - at.centre;
  const double arm = options.normal_arm * at.reach;
  Jacobian by_normal = Jacobian::Zero();
  by_normal.template middleCols<3>(3) = -Hat(n);
  if constexpr (N == kDrifting) {
    const Vector3d& from = surface.seen_from[i];
    by_position.template rightCols<3>() = at.model_from_surface.PointByDrift(surface.points[i], from);
    by_normal.template rightCols<3>() = -Hat(n) * at.model_from_surface.TurnByDrift(from);
  }
  step.information += trust * (by_position.transpose() * certainty * by_position +
                               arm * arm * by_normal.transpose() * by_normal);
  step.gradient += trust * (by_position.transpose() * (certainty * (p - hit->point)) +
                            arm * arm * by_normal.transpose() * (n - hit->normal));
}

template <int N>
Step<N> Linearise(const SurfacePoints& surface, const TriangleTree& model, const Linearisation& at,
                  const IcpOptions& options) {
  Step<N> step;
  for (size_t i = 0; i < surface.Size(); ++i) AddPoint(surface, i, model, at, options, step);
  return step;
}

Sim3 MoveAbout(const Vector3d& centre, const Vector7d& tangent) {
  const Sim3 to(1, Eigen::Quaterniond::Identity(), centre);
  return to * Sim3::Exp(tangent) * to.Inverse();
}

// One Gauss–Newton step; how far it moved, relative to the reach, is returned. `radius`: of the surface, in
// its own unit.
template <int N>
double Iterate(const SurfacePoints& surface, const TriangleTree& model, double reach, double radius,
               const IcpOptions& options, DriftingSimilarity& model_from_surface) {
  const Vector3d& centre = model_from_surface.Centre();
  const Linearisation at{model_from_surface, model_from_surface * centre, reach};
  Step<N> step = Linearise<N>(surface, model, at, options);
  if (!(step.matched > 0)) return 0;
  const double point_scale = step.information(0, 0) + step.information(1, 1) + step.information(2, 2);
  const double turn_scale = step.information.diagonal().template segment<4>(3).sum();
  step.information.diagonal().template head<3>().array() += 1e-4 * point_scale;
  step.information.diagonal().template segment<4>(3).array() += 1e-4 * turn_scale;
  if constexpr (N == kDrifting) {
    // Drift is expected, but not much: it must pay in as many independent things as the surface tells. No
    // surface is so exact that it may be bent at will.
    const double noise = kLeastNoise * radius * model_from_surface.AtCentre().Scale();
    const double squared = std::max(step.squared, noise * noise * step.matched);
    const double certainty = squared / kIndependentPoints * std::pow(radius / options.drift, 2);
    step.information.diagonal().template tail<3>().array() += certainty + 1e-12 * point_scale;
    step.gradient.template tail<3>() += certainty * model_from_surface.Drift();
  }
  Eigen::Matrix<double, N, 1> tangent = -step.information.ldlt().solve(step.gradient);
  if (!tangent.allFinite()) return 0;
  const Sim3& similarity = model_from_surface.AtCentre();
  tangent[6] = std::clamp(tangent[6], std::log(options.least_scale / similarity.Scale() + 1e-12),
                          std::log(options.most_scale / similarity.Scale()));
  Vector3d drift = Vector3d::Zero();
  if constexpr (N == kDrifting) drift = tangent.template tail<3>();
  // No step may throw the surface about: matches tell of what is near only.
  const double largest =
      std::max({tangent.template head<3>().norm() / (2 * reach), tangent.template segment<3>(3).norm() / 0.3,
                std::abs(tangent[6]) / 0.2, radius * drift.norm() / 0.1});
  if (largest > 1) {
    tangent /= largest;
    drift /= largest;
  }
  Vector3d whole = model_from_surface.Drift() + drift;
  if (N == kDrifting && whole.norm() * radius > kMostDrift * options.drift)
    whole *= kMostDrift * options.drift / (whole.norm() * radius);
  model_from_surface =
      DriftingSimilarity(MoveAbout(at.centre, tangent.template head<7>()) * similarity, centre, whole);
  const double size = std::sqrt(turn_scale / std::max(point_scale, 1e-12));
  return (tangent.template head<3>().norm() +
          size * (tangent.template segment<4>(3).norm() + radius * drift.norm())) /
         reach;
}

}  // namespace

IcpResult ScoreSimilarity(const SurfacePoints& surface, const TriangleTree& model,
                          const DriftingSimilarity& model_from_surface, double reach) {
  const Linearisation at{model_from_surface, Vector3d::Zero(), reach};
  const auto step = Linearise<kSimilarity>(surface, model, at, {});
  return {model_from_surface, step.matched / std::max(step.weight, 1e-12),
          step.cost / std::max(step.weight, 1e-12)};
}

double TypicalDistance(const SurfacePoints& surface, const TriangleTree& model,
                       const DriftingSimilarity& model_from_surface, double reach) {
  std::vector<std::pair<double, double>> distances;  // and weights
  double half = 0;
  for (size_t i = 0; i < surface.Size(); ++i) {
    const auto [p, n] = PlacePoint(model_from_surface, surface, i);
    const auto hit = model.FindLikeliest(p, n, 0.5 * reach * reach, reach);
    if (!hit) continue;
    distances.emplace_back((p - hit->point).norm(), surface.weights[i]);
    half += 0.5 * surface.weights[i];
  }
  std::sort(distances.begin(), distances.end());
  for (const auto& [distance, weight] : distances)
    if ((half -= weight) <= 0) return distance;
  return reach;
}

IcpResult RefineSimilarity(const SurfacePoints& surface, const TriangleTree& model,
                           const DriftingSimilarity& start, const IcpOptions& options) {
  const double radius = ComputeRadius(surface);
  // About the places the surface was seen from; a start that drifts already keeps its centre.
  DriftingSimilarity model_from_surface =
      start.Drift().isZero()
          ? DriftingSimilarity(start.AtCentre(), ComputeCentre(surface.seen_from), Vector3d::Zero())
          : start;
  const auto iterate = options.drift > 0 ? Iterate<kDrifting> : Iterate<kSimilarity>;
  double reach = options.first_reach;
  while (true) {
    const bool last = reach <= options.last_reach;
    for (int i = 0; i < (last ? options.last_iterations : options.iterations); ++i)
      if (iterate(surface, model, reach, radius, options, model_from_surface) < 1e-4) break;
    if (last) break;
    reach = std::max(options.last_reach, reach * options.reach_factor);
  }
  return ScoreSimilarity(surface, model, model_from_surface, options.last_reach);
}

}  // namespace lumen
