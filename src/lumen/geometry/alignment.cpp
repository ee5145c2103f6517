#include "lumen/geometry/alignment.h"

#include <Eigen/SVD>

#include "lumen/base/error.h"

namespace lumen {

std::optional<Sim3> EstimateAlignment(const std::vector<Eigen::Vector3d>& a,
                                      const std::vector<Eigen::Vector3d>& b, const AlignmentOptions& options,
                                      const std::vector<double>& weights) {
  LUMEN_CHECK(a.size() == b.size() && (weights.empty() || weights.size() == a.size()));
  const auto weight = [&](size_t i) { return weights.empty() ? 1.0 : weights[i]; };
  double total = 0;
  Eigen::Vector3d mean_a = Eigen::Vector3d::Zero();
  Eigen::Vector3d mean_b = Eigen::Vector3d::Zero();
  for (size_t i = 0; i < a.size(); ++i) {
    total += weight(i);
    mean_a += weight(i) * a[i];
    mean_b += weight(i) * b[i];
  }
  if (a.size() < 3 || !(total > 0)) return std::nullopt;
  mean_a /= total;
  mean_b /= total;

  Eigen::Matrix3d covariance = Eigen::Matrix3d::Zero();
  double variance_a = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    covariance += weight(i) / total * (b[i] - mean_b) * (a[i] - mean_a).transpose();
    variance_a += weight(i) / total * (a[i] - mean_a).squaredNorm();
  }
  const Eigen::JacobiSVD<Eigen::Matrix3d> svd(covariance, Eigen::ComputeFullU | Eigen::ComputeFullV);
  // Two directions must be seen in both sets, or the rotation about the line is free.
  if (!(svd.singularValues()[0] > 0) || svd.singularValues()[1] < 1e-9 * svd.singularValues()[0])
    return std::nullopt;

  Eigen::Vector3d signs = Eigen::Vector3d::Ones();
  if (svd.matrixU().determinant() * svd.matrixV().determinant() < 0) signs[2] = -1;
  const Eigen::Matrix3d rotation = svd.matrixU() * signs.asDiagonal() * svd.matrixV().transpose();
  const double scale = options.estimate_scale ? svd.singularValues().dot(signs) / variance_a : 1.0;
  if (!(scale > 0) || !std::isfinite(scale)) return std::nullopt;
  return Sim3(scale, Eigen::Quaterniond(rotation), mean_b - scale * rotation * mean_a);
}

}  // namespace lumen
