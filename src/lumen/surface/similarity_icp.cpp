#include "lumen/surface/similarity_icp.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace lumen {

using Eigen::Matrix3d;
using Eigen::Vector3d;

namespace {

using Matrix37d = Eigen::Matrix<double, 3, 7>;

struct Step {
  Matrix7d information = Matrix7d::Zero();
  Vector7d gradient = Vector7d::Zero();
  double matched = 0, cost = 0, weight = 0;
};

// The surface's centre in the model's frame: motions about it are least entangled.
Vector3d CentreOf(const SurfacePoints& surface, const Sim3& model_from_surface) {
  Vector3d sum = Vector3d::Zero();
  for (const Vector3d& p : surface.points) sum += p;
  return model_from_surface * (sum / static_cast<double>(surface.Size()));
}

// First-order motion of a point by (v, w, log s) about the centre.
Matrix37d PointJacobian(const Vector3d& from_centre) {
  Matrix37d jacobian;
  jacobian.leftCols<3>().setIdentity();
  jacobian.middleCols<3>(3) = -Hat(from_centre);
  jacobian.col(6) = from_centre;
  return jacobian;
}

struct Linearisation {
  Sim3 model_from_surface;
  Vector3d centre;
  double reach;
};

void AddPoint(const SurfacePoints& surface, size_t i, const TriangleTree& model, const Linearisation& at,
              const IcpOptions& options, Step& step) {
  const double weight = surface.weights[i];
  step.weight += weight;
  const Vector3d p = at.model_from_surface * surface.points[i];
  const Vector3d n = at.model_from_surface.Rotation() * surface.normals[i];
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
  const Matrix37d by_position = PointJacobian(p - at.centre);
  step.information += trust * by_position.transpose() * certainty * by_position;
  step.gradient += trust * by_position.transpose() * (certainty * (p - hit->point));
  const double arm = options.normal_arm * at.reach;
  Matrix37d by_normal = Matrix37d::Zero();
  by_normal.middleCols<3>(3) = -Hat(n);
  step.information += trust * arm * arm * by_normal.transpose() * by_normal;
  step.gradient += trust * arm * arm * by_normal.transpose() * (n - hit->normal);
}

Step Linearise(const SurfacePoints& surface, const TriangleTree& model, const Linearisation& at,
               const IcpOptions& options) {
  Step step;
  for (size_t i = 0; i < surface.Size(); ++i) AddPoint(surface, i, model, at, options, step);
  return step;
}

Sim3 MoveAbout(const Vector3d& centre, const Vector7d& tangent) {
  const Sim3 to(1, Eigen::Quaterniond::Identity(), centre);
  return to * Sim3::Exp(tangent) * to.Inverse();
}

// One Gauss–Newton step; how far it moved, relative to the reach, is returned.
double Iterate(const SurfacePoints& surface, const TriangleTree& model, double reach,
               const IcpOptions& options, Sim3& model_from_surface) {
  const Linearisation at{model_from_surface, CentreOf(surface, model_from_surface), reach};
  Step step = Linearise(surface, model, at, options);
  if (!(step.matched > 0)) return 0;
  const double point_scale = step.information(0, 0) + step.information(1, 1) + step.information(2, 2);
  const double turn_scale = step.information.diagonal().tail<4>().sum();
  step.information.diagonal().head<3>().array() += 1e-4 * point_scale;
  step.information.diagonal().tail<4>().array() += 1e-4 * turn_scale;
  Vector7d tangent = -step.information.ldlt().solve(step.gradient);
  if (!tangent.allFinite()) return 0;
  const double scale = model_from_surface.Scale();
  tangent[6] = std::clamp(tangent[6], std::log(options.least_scale / scale + 1e-12),
                          std::log(options.most_scale / scale));
  // No step may throw the surface about: matches tell of what is near only.
  const double largest = std::max({tangent.head<3>().norm() / (2 * reach), tangent.segment<3>(3).norm() / 0.3,
                                   std::abs(tangent[6]) / 0.2});
  if (largest > 1) tangent /= largest;
  model_from_surface = MoveAbout(at.centre, tangent) * model_from_surface;
  const double size = std::sqrt(turn_scale / std::max(point_scale, 1e-12));
  return (tangent.head<3>().norm() + size * tangent.tail<4>().norm()) / reach;
}

}  // namespace

IcpResult ScoreSimilarity(const SurfacePoints& surface, const TriangleTree& model,
                          const Sim3& model_from_surface, double reach) {
  const Linearisation at{model_from_surface, CentreOf(surface, model_from_surface), reach};
  const Step step = Linearise(surface, model, at, {});
  return {model_from_surface, step.matched / std::max(step.weight, 1e-12),
          step.cost / std::max(step.weight, 1e-12)};
}

IcpResult RefineSimilarity(const SurfacePoints& surface, const TriangleTree& model, const Sim3& start,
                           const IcpOptions& options) {
  Sim3 model_from_surface = start;
  double reach = options.first_reach;
  while (true) {
    const bool last = reach <= options.last_reach;
    for (int i = 0; i < (last ? options.last_iterations : options.iterations); ++i)
      if (Iterate(surface, model, reach, options, model_from_surface) < 1e-4) break;
    if (last) break;
    reach = std::max(options.last_reach, reach * options.reach_factor);
  }
  return ScoreSimilarity(surface, model, model_from_surface, options.last_reach);
}

}  // namespace lumen
