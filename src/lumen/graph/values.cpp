#include "lumen/graph/values.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"

namespace lumen {

namespace {

constexpr const char* kKindNames[] = {"pose", "log-scale", "code", "keyframe"};

bool KindFits(KeyKind kind, const Value& value) {
  switch (kind) {
    case KeyKind::kPose:
      return std::holds_alternative<Rigid3>(value);
    case KeyKind::kLogScale:
      return std::holds_alternative<double>(value);
    case KeyKind::kCode:
      return std::holds_alternative<Eigen::VectorXd>(value);
    case KeyKind::kKeyframe:
      return std::holds_alternative<KeyframeValue>(value);
  }
  return false;
}

void CheckValue(const Key& key, const Value& value) {
  LUMEN_CHECK(KindFits(key.kind, value), "a value of another kind for ", ToString(key));
  LUMEN_CHECK(IsFinite(value), "a value that is not finite for ", ToString(key));
}

}  // namespace

std::string ToString(const Key& key) {
  return StrCat(kKindNames[static_cast<size_t>(key.kind)], " ", key.id);
}

int Dimension(const Value& value) {
  if (std::holds_alternative<Rigid3>(value)) return Rigid3::kDimension;
  if (std::holds_alternative<double>(value)) return 1;
  if (const auto* keyframe = std::get_if<KeyframeValue>(&value))
    return KeyframeValue::kPlace + static_cast<int>(keyframe->code.size());
  return static_cast<int>(std::get<Eigen::VectorXd>(value).size());
}

bool IsFinite(const Value& value) {
  if (const auto* pose = std::get_if<Rigid3>(&value)) {
    return pose->Rotation().coeffs().allFinite() && pose->Translation().allFinite();
  }
  if (const auto* scalar = std::get_if<double>(&value)) return std::isfinite(*scalar);
  if (const auto* keyframe = std::get_if<KeyframeValue>(&value)) {
    const Sim3& place = keyframe->world_from_keyframe;
    return std::isfinite(place.Scale()) && place.Scale() > 0 && place.Rotation().coeffs().allFinite() &&
           place.Translation().allFinite() && keyframe->code.allFinite();
  }
  return std::get<Eigen::VectorXd>(value).allFinite();
}

Value Retract(const Value& value, const Eigen::Ref<const Eigen::VectorXd>& delta) {
  LUMEN_CHECK(delta.size() == Dimension(value), delta.size(), " numbers for dimension ", Dimension(value));
  if (const auto* pose = std::get_if<Rigid3>(&value)) return pose->Retract(Vector6d(delta));
  if (const auto* scalar = std::get_if<double>(&value)) return *scalar + delta[0];
  if (const auto* keyframe = std::get_if<KeyframeValue>(&value)) {
    return KeyframeValue{keyframe->world_from_keyframe * Sim3::Exp(delta.head<KeyframeValue::kPlace>()),
                         keyframe->code + delta.tail(keyframe->code.size())};
  }
  return Eigen::VectorXd(std::get<Eigen::VectorXd>(value) + delta);
}

Eigen::VectorXd Local(const Value& from, const Value& to) {
  LUMEN_CHECK(from.index() == to.index() && Dimension(from) == Dimension(to));
  if (const auto* pose = std::get_if<Rigid3>(&from)) return pose->Local(std::get<Rigid3>(to));
  if (const auto* scalar = std::get_if<double>(&from)) {
    return Eigen::VectorXd::Constant(1, std::get<double>(to) - *scalar);
  }
  if (const auto* keyframe = std::get_if<KeyframeValue>(&from)) {
    const auto& other = std::get<KeyframeValue>(to);
    Eigen::VectorXd local(Dimension(from));
    local.head<KeyframeValue::kPlace>() =
        (keyframe->world_from_keyframe.Inverse() * other.world_from_keyframe).Log();
    local.tail(keyframe->code.size()) = other.code - keyframe->code;
    return local;
  }
  return std::get<Eigen::VectorXd>(to) - std::get<Eigen::VectorXd>(from);
}

void Values::Insert(const Key& key, Value value) {
  CheckValue(key, value);
  const bool is_new = values_.emplace(key, std::move(value)).second;
  LUMEN_CHECK(is_new, ToString(key), " is there already");
}

void Values::Set(const Key& key, Value value) {
  CheckValue(key, value);
  const auto found = values_.find(key);
  LUMEN_CHECK(found != values_.end(), ToString(key), " is not there");
  LUMEN_CHECK(Dimension(found->second) == Dimension(value), "another dimension for ", ToString(key));
  found->second = std::move(value);
}

void Values::Erase(const Key& key) {
  const bool was_there = values_.erase(key) > 0;
  LUMEN_CHECK(was_there, ToString(key), " is not there");
}

std::vector<Key> Values::Keys() const {
  std::vector<Key> keys;
  keys.reserve(values_.size());
  for (const auto& [key, _] : values_) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  return keys;
}

const Value& Values::At(const Key& key) const {
  const auto found = values_.find(key);
  LUMEN_CHECK(found != values_.end(), ToString(key), " is not there");
  return found->second;
}

const Rigid3& Values::Pose(const Key& key) const {
  LUMEN_CHECK(key.kind == KeyKind::kPose, ToString(key), " is no pose");
  return std::get<Rigid3>(At(key));
}

double Values::LogScale(const Key& key) const {
  LUMEN_CHECK(key.kind == KeyKind::kLogScale, ToString(key), " is no log-scale");
  return std::get<double>(At(key));
}

const Eigen::VectorXd& Values::Code(const Key& key) const {
  LUMEN_CHECK(key.kind == KeyKind::kCode, ToString(key), " is no code");
  return std::get<Eigen::VectorXd>(At(key));
}

const KeyframeValue& Values::Keyframe(const Key& key) const {
  LUMEN_CHECK(key.kind == KeyKind::kKeyframe, ToString(key), " is no keyframe");
  return std::get<KeyframeValue>(At(key));
}

}  // namespace lumen
