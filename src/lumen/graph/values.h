// The values of variables, with their retraction. What enters is checked: a value is finite and of its
// key's kind, so Values never hold NaN. Asking for a key that is not there is a broken contract.
#pragma once

#include <Eigen/Core>
#include <unordered_map>
#include <variant>
#include <vector>

#include "lumen/geometry/sim3.h"
#include "lumen/graph/key.h"

namespace lumen {

// A keyframe as one variable: what takes its own unit to the world, and its depth code. Its tangent is
// (v, w, log s | code) and acts in the keyframe's own frame, S Exp(d): so what two keyframes see of each
// other does not change while both move, turn and grow together, and neither does any derivative of it.
struct KeyframeValue {
  static constexpr int kPlace = Sim3::kDimension;  // where the code begins

  Sim3 world_from_keyframe;
  Eigen::VectorXd code;
};

using Value = std::variant<Rigid3, double, Eigen::VectorXd, KeyframeValue>;

int Dimension(const Value& value);
bool IsFinite(const Value& value);
// Poses move on the left, Exp(delta) T; keyframes on the right; scales and codes add.
Value Retract(const Value& value, const Eigen::Ref<const Eigen::VectorXd>& delta);
// Retract's inverse: Retract(from, Local(from, to)) = to.
Eigen::VectorXd Local(const Value& from, const Value& to);

class Values {
 public:
  void Insert(const Key& key, Value value);  // a new key
  void Set(const Key& key, Value value);     // a key that is there
  void Erase(const Key& key);                // likewise

  bool Contains(const Key& key) const { return values_.contains(key); }
  size_t Size() const { return values_.size(); }
  std::vector<Key> Keys() const;  // in order

  const Value& At(const Key& key) const;
  const Rigid3& Pose(const Key& key) const;
  double LogScale(const Key& key) const;
  const Eigen::VectorXd& Code(const Key& key) const;
  const KeyframeValue& Keyframe(const Key& key) const;

 private:
  std::unordered_map<Key, Value, KeyHash> values_;
};

}  // namespace lumen
