#include "lumen/geometry/rational_lens.h"

#include <algorithm>
#include <cmath>

namespace lumen {

namespace {

constexpr int kSamples = 400;
constexpr double kMostPixels = 0.5;
constexpr double kWidestTangent = 20;  // 87° off the axis

// By what a ray at the tangent r off the axis is bent outwards.
double Factor(const std::vector<double>& k, double r) {
  const double q = r * r;
  return (1 + q * (k[0] + q * (k[1] + q * k[4]))) / (1 + q * (k[5] + q * (k[6] + q * k[7])));
}

// The farthest the picture's corners are from its centre, in tangents of the bent ray.
double CornerOf(const PinholeCamera& pinhole, int width, int height) {
  const double x = std::max(pinhole.cx, width - 1 - pinhole.cx) / pinhole.fx;
  const double y = std::max(pinhole.cy, height - 1 - pinhole.cy) / pinhole.fy;
  return std::hypot(x, y);
}

// How far off the axis rays come into the picture; nothing if they never reach its corner.
std::optional<double> WidestRay(const std::vector<double>& k, double corner) {
  constexpr double kStep = 1e-3;
  double before = 0;
  for (double r = kStep; r < kWidestTangent; r += kStep) {
    const double bent = r * Factor(k, r);
    if (!(bent > before)) return std::nullopt;
    if (bent >= corner) return r;
    before = bent;
  }
  return std::nullopt;
}

}  // namespace

std::optional<RadTanCamera> RadTanFromCoefficients(const PinholeCamera& pinhole,
                                                   const std::vector<double>& coefficients, int width,
                                                   int height) {
  std::vector<double> k = coefficients;
  for (size_t i = 8; i < k.size(); ++i)
    if (k[i] != 0) return std::nullopt;
  k.resize(8, 0.0);
  RadTanCamera camera{pinhole, {k[0], k[1], k[2], k[3], k[4]}};
  if (k[5] == 0 && k[6] == 0 && k[7] == 0) return camera;

  const std::optional<double> widest = WidestRay(k, CornerOf(pinhole, width, height));
  if (!widest) return std::nullopt;
  // r (1 + a r² + b r⁴ + c r⁶) nearest to r times the factor: linear in a, b and c.
  Eigen::Matrix<double, kSamples, 3> powers;
  Eigen::Matrix<double, kSamples, 1> bent;
  for (int i = 0; i < kSamples; ++i) {
    const double r = *widest * (i + 1) / kSamples;
    powers.row(i) << std::pow(r, 3), std::pow(r, 5), std::pow(r, 7);
    bent[i] = r * (Factor(k, r) - 1);
  }
  const Eigen::Vector3d fitted = powers.colPivHouseholderQr().solve(bent);
  const double worst = (powers * fitted - bent).cwiseAbs().maxCoeff() * std::max(pinhole.fx, pinhole.fy);
  if (!(worst < kMostPixels)) return std::nullopt;
  camera.distortion = {fitted[0], fitted[1], k[2], k[3], fitted[2]};
  return camera;
}

}  // namespace lumen
