// The warp of the paper's equations: a source pixel at its depth D(x) = s (D̄ + cᵀD̂), lifted, moved into
// the target and projected, with derivatives. The plain version, one point at a time. Depth is the view's own
// measure (UnifiedCamera::Depth): along z for a pinhole.
#pragma once

#include <cmath>
#include <optional>

#include "lumen/factors/pair_variables.h"
#include "lumen/scene/frame.h"

namespace lumen {

// Points nearer than this in front of a camera (in map units) are not seen.
inline constexpr double kMinDepth = 1e-4;

struct WarpedPoint {
  Eigen::Vector3d x_in_target;
  Eigen::Matrix<double, 3, 6> x_by_pose;  // by a left perturbation of target_from_source
  Eigen::Vector3d x_by_depth;             // by the depth at the source pixel
};

// Nothing where the depth is not positive or the point lies behind the target.
inline std::optional<WarpedPoint> WarpPoint(const Rigid3& target_from_source, const Eigen::Vector3d& ray,
                                            double depth, const UnifiedCamera& target) {
  if (!(depth > kMinDepth)) return std::nullopt;
  WarpedPoint point;
  point.x_by_depth = target_from_source.Rotation() * ray;
  point.x_in_target = depth * point.x_by_depth + target_from_source.Translation();
  if (!target.IsBefore(point.x_in_target, kMinDepth)) return std::nullopt;
  point.x_by_pose << Eigen::Matrix3d::Identity(), -Hat(point.x_in_target);
  return point;
}

// True if the nearest pixel is image content.
inline bool IsContent(const Mask& mask, const Eigen::Vector2d& uv) {
  // Shifted so that pixel x covers [x, x + 1); not negative, so cutting off the fraction finds it.
  const double x = uv.x() + 0.5;
  const double y = uv.y() + 0.5;
  if (!(x >= 0 && y >= 0 && x < mask.Width() && y < mask.Height())) return false;
  return mask(static_cast<int>(x), static_cast<int>(y)) != 0;
}

// True if a central difference can be taken at the pixel.
inline bool HasNeighbours(int x, int y, int width, int height) {
  return x > 0 && y > 0 && x + 1 < width && y + 1 < height;
}

// A wall that shrinks to less than this share of its area in the target shows nothing to compare.
inline constexpr double kLeastStretch = 0.05;

// s (average + codeᵀ bases), in double, by four sums that do not wait for each other.
inline double DepthOf(float average, const float* bases, double scale, const Eigen::VectorXd& code) {
  const Eigen::Index count = code.size();
  const double* c = code.data();
  double sum[4] = {average, 0, 0, 0};
  Eigen::Index i = 0;
  for (; i + 4 <= count; i += 4) {
    for (int k = 0; k < 4; ++k) sum[k] += c[i + k] * static_cast<double>(bases[i + k]);
  }
  for (; i < count; ++i) sum[0] += c[i] * static_cast<double>(bases[i]);
  return scale * ((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

}  // namespace lumen
