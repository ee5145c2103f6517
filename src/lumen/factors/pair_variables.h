// The unknowns of a factor between a source and a target keyframe. Every pair factor works in the same
// local unknowns, in this order:
//   target_from_source (6: v, w, on the left) | source log-scale | target log-scale | source code | target
//   code
// and is carried over to the graph's keys once, at the end. Mapping (two keyframes of a map) and tracking
// (one relative pose) differ only in that last step; a quantity without a key stays at its given value.
#pragma once

#include <optional>

#include "lumen/graph/factor.h"

namespace lumen {

inline constexpr int kSourceScale = 6;  // where the local unknowns stand
inline constexpr int kTargetScale = 7;
inline constexpr int kCodes = 8;

struct PairState {
  Rigid3 target_from_source;
  double source_log_scale = 0;
  double target_log_scale = 0;
  Eigen::VectorXd source_code;
  Eigen::VectorXd target_code;
};

// Sums over residuals in local unknowns. Code columns are there only where that code is free.
struct PairSystem {
  PairSystem() = default;
  explicit PairSystem(int dimension)
      : H(Eigen::MatrixXd::Zero(dimension, dimension)), b(Eigen::VectorXd::Zero(dimension)) {}
  PairSystem& operator+=(const PairSystem& other);
  void Scale(double factor);
  // Adds ½ weight |residual|².
  void Add(const Eigen::Ref<const Eigen::VectorXd>& residual,
           const Eigen::Ref<const Eigen::MatrixXd>& jacobian, double weight);

  Eigen::MatrixXd H;
  Eigen::VectorXd b;
  double error = 0;
  int64_t count = 0;
};

// The depth of one side: its variables, or the values of those that stay as they are.
struct DepthVariables {
  std::optional<Key> log_scale_key = {};
  std::optional<Key> code_key = {};
  double log_scale = 0;
  Eigen::VectorXd code = {};

  static DepthVariables Fixed(double log_scale, Eigen::VectorXd code);
};

// A keyframe in a map: its variable is its place in units of `unit`, a depth of its own that makes tangents
// and thresholds mean the same whatever size of numbers a network makes.
struct MapSide {
  int64_t id = 0;
  double unit = 1;

  Key GetKey() const { return KeyframeKey(id); }
  double LogScale(const KeyframeValue& value) const;
};
KeyframeValue MakeKeyframeValue(const Rigid3& world_from_camera, double log_scale, Eigen::VectorXd code,
                                double unit = 1);

class PairVariables {
 public:
  // Mapping: both keyframes' places and depths are variables.
  static PairVariables World(const MapSide& source, const MapSide& target);
  static PairVariables World(int64_t source, int64_t target) {
    return World(MapSide{source}, MapSide{target});
  }
  // Tracking: the variable is target_from_source itself.
  static PairVariables Relative(const Key& target_from_source, DepthVariables source,
                                DepthVariables target = {});

  // The same pair for a factor that sees less: no target depth (FM, RP), no codes (RPS).
  PairVariables WithoutTargetDepth() const;
  PairVariables WithoutCodes() const;

  std::vector<Key> Keys() const;
  PairState Resolve(const Values& values) const;
  bool SourceCodeIsFree() const { return map_ ? source_code_is_seen_ : source_.code_key.has_value(); }
  bool TargetCodeIsFree() const { return map_ ? target_code_is_seen_ : target_.code_key.has_value(); }
  // True if no variable moves the source's depth; then these are its values.
  bool SourceDepthIsFixed() const { return !map_ && !source_.log_scale_key && !source_.code_key; }
  const DepthVariables& SourceDepth() const { return source_; }
  int LocalDimension(const PairState& state) const;
  NormalBlock Expand(const PairSystem& system, const Values& values) const;

 private:
  struct Sides {
    MapSide source, target;
  };
  NormalBlock ExpandToKeyframes(const PairSystem& system, const Values& values) const;
  NormalBlock ExpandToRelative(const PairSystem& system, const Values& values) const;

  std::optional<Sides> map_;  // mapping
  bool source_code_is_seen_ = true;
  bool target_code_is_seen_ = true;
  Key relative_;  // tracking: target_from_source, and what else is free
  DepthVariables source_;
  DepthVariables target_;
};

}  // namespace lumen
