#include "lumen/surface/constraint.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "lumen/surface/similarity_icp.h"

namespace lumen {

using Eigen::Vector3d;

std::string Constraint::Words() const {
  const double slide = translation.squaredNorm(), turn = rotation.squaredNorm(), grow = growth * growth;
  char text[96];
  const auto along = [&](const char* verb, Vector3d v) {
    v.normalize();
    std::snprintf(text, sizeof(text), "%s (%.2f, %.2f, %.2f)", verb, v.x(), v.y(), v.z());
    return std::string(text);
  };
  if (grow >= slide && grow >= turn) return "growing";
  return slide >= turn ? along("sliding along", translation) : along("turning about", rotation);
}

Sim3 Constraint::Move(double mm, const Vector3d& centre, double radius) const {
  const Vector3d turn = mm / radius * rotation;
  const Eigen::Quaterniond q(Eigen::AngleAxisd(
      turn.norm(), turn.norm() > 0 ? Vector3d(turn.normalized()) : Vector3d(Vector3d::UnitX())));
  const double scale = std::exp(mm / radius * growth);
  return {scale, q, centre + mm * translation - scale * (q * centre)};
}

std::vector<Constraint> ComputeConstraints(const SurfacePoints& surface, const TriangleTree& model,
                                           const DriftingSimilarity& model_from_surface, double reach) {
  std::vector<PlacedPoint> placed;
  Vector3d centre = Vector3d::Zero();
  for (size_t i = 0; i < surface.Size(); ++i) {
    placed.push_back(PlacePoint(model_from_surface, surface, i));
    centre += placed.back().point / static_cast<double>(surface.Size());
  }
  const double radius = model_from_surface.AtCentre().Scale() * ComputeRadius(surface);
  Matrix7d information = Matrix7d::Zero();
  double weight = 0, squared = 0;
  for (size_t i = 0; i < surface.Size(); ++i) {
    const auto& [p, n] = placed[i];
    const auto hit = model.FindLikeliest(p, n, 0.5 * reach * reach, reach);
    if (!hit) continue;
    const Vector3d arm = (p - centre) / radius;
    Vector7d across;
    across << n, arm.cross(n), arm.dot(n);
    information += surface.weights[i] * across * across.transpose();
    weight += surface.weights[i];
    squared += surface.weights[i] * std::pow(n.dot(p - hit->point), 2);
  }
  std::vector<Constraint> constraints;
  if (!(weight > 0)) return constraints;
  const Eigen::SelfAdjointEigenSolver<Matrix7d> solver(information / weight);
  for (int i = 0; i < 7; ++i) {
    const Vector7d motion = solver.eigenvectors().col(i);
    Constraint constraint{motion.head<3>(), motion.segment<3>(3), motion[6]};
    constraint.visibility = std::sqrt(std::max(0.0, solver.eigenvalues()[i]));
    constraint.uncertainty =
        std::sqrt(squared / weight / kIndependentPoints) / std::max(constraint.visibility, 1e-6);
    constraints.push_back(constraint);
  }
  return constraints;
}

}  // namespace lumen
