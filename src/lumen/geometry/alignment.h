// The similarity (or rigid) transform that best maps one point set onto another, in closed form
// (Umeyama 1991).
#pragma once

#include <optional>
#include <vector>

#include "lumen/geometry/sim3.h"

namespace lumen {

struct AlignmentOptions {
  bool estimate_scale = true;
};

// b_from_a minimising Σ w |b_i − (s R a_i + t)|²; `weights` may be empty (all one).
// Nothing where the points do not determine it: fewer than three, all equal, or on one line.
std::optional<Sim3> EstimateAlignment(const std::vector<Eigen::Vector3d>& a,
                                      const std::vector<Eigen::Vector3d>& b,
                                      const AlignmentOptions& options = {},
                                      const std::vector<double>& weights = {});

}  // namespace lumen
