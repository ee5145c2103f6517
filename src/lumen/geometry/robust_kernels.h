// Robust losses ρ(a; b) of a squared residual a with parameter b (in the residual's squared unit), as
// the paper writes them. `weight` is dρ/da, so that weight · JᵀJ is the reweighted normal block.
// Every kernel but Truncated is ≈ a/b times a constant near zero: small residuals are least squares.
#pragma once

#include <cmath>

namespace lumen {

struct RobustValue {
  double rho = 0;
  double weight = 0;
};

// 2 (√(a/b) − ln(1 + √(a/b))): grows linearly, convex.
inline RobustValue Fair(double squared, double delta) {
  const double r = std::sqrt(squared / delta);
  return {2.0 * (r - std::log1p(r)), 1.0 / (delta * (1.0 + r))};
}

// ln(1 + a/b): grows logarithmically, large residuals lose their pull.
inline RobustValue Cauchy(double squared, double delta) {
  return {std::log1p(squared / delta), 1.0 / (delta + squared)};
}

// a/b up to b, then 2√(a/b) − 1.
inline RobustValue Huber(double squared, double delta) {
  if (squared <= delta) return {squared / delta, 1.0 / delta};
  const double r = std::sqrt(squared / delta);
  return {2.0 * r - 1.0, 1.0 / (delta * r)};
}

// a/b up to b, then 1: beyond b a residual has no pull at all.
inline RobustValue Truncated(double squared, double delta) {
  if (squared <= delta) return {squared / delta, 1.0 / delta};
  return {1.0, 0.0};
}

}  // namespace lumen
