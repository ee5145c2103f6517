// The values of variables, with their retraction. What enters is checked: a value is finite and of its
// key's kind, so Values never hold NaN. Asking for a key that is not there is a broken contract.
#pragma once

#include <Eigen/Core>
#include <unordered_map>
#include <variant>
#include <vector>

#include "lumen/geometry/rigid3.h"
#include "lumen/graph/key.h"

namespace lumen {

using Value = std::variant<Rigid3, double, Eigen::VectorXd>;

int Dimension(const Value& value);
bool IsFinite(const Value& value);
// Poses move on the left, Exp(delta) T; scales and codes add.
Value Retract(const Value& value, const Eigen::Ref<const Eigen::VectorXd>& delta);
// Retract's inverse: Retract(from, Local(from, to)) = to.
Eigen::VectorXd Local(const Value& from, const Value& to);

class Values {
 public:
  void Insert(const Key& key, Value value);  // a new key
  void Set(const Key& key, Value value);     // a key that is there

  bool Contains(const Key& key) const { return values_.contains(key); }
  size_t Size() const { return values_.size(); }
  std::vector<Key> Keys() const;  // in order

  const Value& At(const Key& key) const;
  const Rigid3& Pose(const Key& key) const;
  double LogScale(const Key& key) const;
  const Eigen::VectorXd& Code(const Key& key) const;

 private:
  std::unordered_map<Key, Value, KeyHash> values_;
};

}  // namespace lumen
