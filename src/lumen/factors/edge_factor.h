// All that ties two keyframes of a map together, as one term: the sum of its parts (FM and GC, both ways).
#pragma once

#include "lumen/graph/factor.h"

namespace lumen {

class EdgeFactor : public RelativeFactor {
 public:
  // Parts between these two keyframes, in either order.
  EdgeFactor(const Key& first, const Key& second, FactorGraph parts);

  double Error(const Values& values) const override;
  NormalBlock Linearize(const Values& values) const override;

 private:
  FactorGraph parts_;
};

}  // namespace lumen
