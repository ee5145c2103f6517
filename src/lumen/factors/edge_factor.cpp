#include "lumen/factors/edge_factor.h"

#include "lumen/base/error.h"

namespace lumen {

EdgeFactor::EdgeFactor(const Key& first, const Key& second, FactorGraph parts)
    : RelativeFactor({first, second}), parts_(std::move(parts)) {
  LUMEN_CHECK(!parts_.empty());
}

double EdgeFactor::Error(const Values& values) const {
  double error = 0;
  for (const FactorPtr& part : parts_) error += part->Error(values);
  return error;
}

NormalBlock EdgeFactor::Linearize(const Values& values) const {
  NormalBlock sum{BlockLayout(Keys(), values)};
  for (const FactorPtr& part : parts_) sum += part->Linearize(values);
  return sum;
}

}  // namespace lumen
