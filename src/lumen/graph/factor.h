// One term of the estimate's cost. A factor is immutable, so it may be evaluated from several threads.
#pragma once

#include <memory>
#include <vector>

#include "lumen/graph/normal_block.h"

namespace lumen {

class Factor {
 public:
  explicit Factor(std::vector<Key> keys) : keys_(std::move(keys)) {}
  virtual ~Factor() = default;
  Factor(const Factor&) = delete;
  Factor& operator=(const Factor&) = delete;

  const std::vector<Key>& Keys() const { return keys_; }
  // Half the weighted objective: never negative, and finite wherever the values are of sane size (a
  // solver may try a log-scale whose exponential overflows; it rejects what is not finite).
  virtual double Error(const Values& values) const = 0;
  // Error, its gradient and its Gauss–Newton Hessian, laid out in the order of Keys().
  virtual NormalBlock Linearize(const Values& values) const = 0;
  // A step of the keys' tangents that takes them from `from` (one value per key) to where they are now, as
  // far as this factor can tell: one that sees relative places alone gives none where its keys moved
  // together.
  virtual Eigen::VectorXd StepFrom(const std::vector<Value>& from, const Values& now) const;

 private:
  std::vector<Key> keys_;
};

using FactorPtr = std::shared_ptr<const Factor>;
using FactorGraph = std::vector<FactorPtr>;

// Each factor's block, in the graph's order whatever the number of threads.
std::vector<NormalBlock> LinearizeAll(const FactorGraph& factors, const Values& values, int threads = 1);
bool AllFinite(const std::vector<NormalBlock>& blocks);
double TotalError(const FactorGraph& factors, const Values& values, int threads = 1);

// A factor that is a plain sum of squares ½ |r|² of a few numbers (weights are inside r).
class ResidualFactor : public Factor {
 public:
  using Factor::Factor;
  double Error(const Values& values) const override;
  NormalBlock Linearize(const Values& values) const override;

 protected:
  // The residual and, if asked for, its Jacobian by the tangents of Keys() (resized by the callee).
  virtual Eigen::VectorXd Residual(const Values& values, Eigen::MatrixXd* jacobian) const = 0;
};

// A factor between keyframes that sees them relative to each other alone.
class RelativeFactor : public Factor {
 public:
  explicit RelativeFactor(std::vector<Key> keyframes);
  // As if the last had stayed in place.
  Eigen::VectorXd StepFrom(const std::vector<Value>& from, const Values& now) const override;
};

}  // namespace lumen
