// Registration problems with known answers, for tests and benchmarks.
#pragma once

#include <cmath>

#include "lumen/base/random.h"
#include "lumen/geometry/registration.h"

namespace lumen {

struct RegistrationProblem {
  std::vector<Eigen::Vector3d> a, b;
  std::vector<double> bounds;
  Sim3 b_from_a;
};

// Points on a curved surface seen by a camera, as matches between two depth maps give them: the noise
// grows with depth, outliers are matches to other places of the same surface.
inline RegistrationProblem MakeRegistrationProblem(int count, double outlier_share, uint64_t seed) {
  Random random(seed);
  RegistrationProblem problem;
  Vector7d tangent;
  for (int i = 0; i < 7; ++i) tangent[i] = random.Normal(0, 0.3);
  problem.b_from_a = Sim3::Exp(tangent);
  const auto surface_point = [&]() -> Eigen::Vector3d {
    const double u = random.Uniform(-0.6, 0.6);
    const double v = random.Uniform(-0.5, 0.5);
    return Eigen::Vector3d(u, v, 1) * (1.0 + 0.5 * std::sin(3 * u) + 0.3 * v * v + 0.4 * u * v);
  };
  for (int i = 0; i < count; ++i) {
    const Eigen::Vector3d x = surface_point();
    const Eigen::Vector3d source = i < outlier_share * count ? surface_point() : x;
    const Eigen::Vector3d y = problem.b_from_a * source;
    const double bound = 0.02 * problem.b_from_a.Scale() * x.z();  // about two pixels at an 80 px wide image
    problem.a.push_back(x);
    problem.b.push_back(y + 0.3 * bound * Eigen::Vector3d{random.Normal(), random.Normal(), random.Normal()});
    problem.bounds.push_back(bound);
  }
  return problem;
}

// Within 1° and 1 %.
inline bool IsRight(const RegistrationProblem& problem, const RegistrationResult& result) {
  if (result.status != RegistrationStatus::kOk) return false;
  const double angle = RotationAngle(result.b_from_a.Rotation(), problem.b_from_a.Rotation()) * 180 / M_PI;
  const double scale = std::abs(result.b_from_a.Scale() / problem.b_from_a.Scale() - 1);
  // Translation relative to the distance of the scene.
  const Eigen::Vector3d centre(0, 0, 1);
  const double shift =
      (result.b_from_a * centre - problem.b_from_a * centre).norm() / problem.b_from_a.Scale();
  return angle < 1 && scale < 0.01 && shift < 0.01;
}

}  // namespace lumen
