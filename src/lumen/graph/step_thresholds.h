// How far variables may move before something is done about it: a bound for each kind of unknown.
#pragma once

#include "lumen/base/config.h"
#include "lumen/graph/values.h"

namespace lumen {

// Bounds on the largest entry of a tangent.
struct StepThresholds {
  double pose = 1e-3;
  double log_scale = 1e-3;
  double code = 1e-2;

  // The largest entry of a variable's step, in its bound: beyond 1 it is beyond the bound.
  double Share(KeyKind kind, const Eigen::Ref<const Eigen::VectorXd>& step) const;
  void Describe(ConfigVisitor& visitor);
};

}  // namespace lumen
