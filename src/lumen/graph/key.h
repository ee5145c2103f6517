// Names of variables: a kind and the number of the keyframe (or frame) it belongs to. The kind fixes what
// is stored in Values: a pose is a Rigid3, a log-scale a double, a code a vector, a keyframe all three.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "lumen/base/random.h"

namespace lumen {

enum class KeyKind : uint8_t { kPose, kLogScale, kCode, kKeyframe };

struct Key {
  KeyKind kind = KeyKind::kPose;
  int64_t id = 0;

  friend bool operator==(const Key&, const Key&) = default;
  // By keyframe first, so that a keyframe's variables stand together.
  friend std::strong_ordering operator<=>(const Key& a, const Key& b) {
    return a.id == b.id ? a.kind <=> b.kind : a.id <=> b.id;
  }
};

inline Key PoseKey(int64_t id) { return {KeyKind::kPose, id}; }
inline Key LogScaleKey(int64_t id) { return {KeyKind::kLogScale, id}; }
inline Key CodeKey(int64_t id) { return {KeyKind::kCode, id}; }
inline Key KeyframeKey(int64_t id) { return {KeyKind::kKeyframe, id}; }

std::string ToString(const Key& key);  // "pose 7"

struct KeyHash {
  size_t operator()(const Key& key) const {
    return MixBits(static_cast<uint64_t>(key.id) * 4 + static_cast<uint64_t>(key.kind));
  }
};

}  // namespace lumen
