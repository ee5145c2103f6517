#include "lumen/factors/pair_variables.h"

#include <cmath>

#include "lumen/base/error.h"

namespace lumen {

PairSystem& PairSystem::operator+=(const PairSystem& other) {
  H += other.H;
  b += other.b;
  error += other.error;
  count += other.count;
  return *this;
}

void PairSystem::Scale(double factor) {
  H *= factor;
  b *= factor;
  error *= factor;
}

void PairSystem::Add(const Eigen::Ref<const Eigen::VectorXd>& residual,
                     const Eigen::Ref<const Eigen::MatrixXd>& jacobian, double weight) {
  H.noalias() += weight * jacobian.transpose() * jacobian;
  b.noalias() += weight * jacobian.transpose() * residual;
  error += 0.5 * weight * residual.squaredNorm();
  ++count;
}

DepthVariables DepthVariables::Fixed(double log_scale, Eigen::VectorXd code) {
  return {.log_scale = log_scale, .code = std::move(code)};
}

double MapSide::LogScale(const KeyframeValue& value) const {
  return std::log(value.world_from_keyframe.Scale() / unit);
}

KeyframeValue MakeKeyframeValue(const Rigid3& world_from_camera, double log_scale, Eigen::VectorXd code,
                                double unit) {
  return {Sim3(std::exp(log_scale) * unit, world_from_camera.Rotation(), world_from_camera.Translation()),
          std::move(code)};
}

PairVariables PairVariables::World(const MapSide& source, const MapSide& target) {
  LUMEN_CHECK(source.id != target.id, "keyframe ", source.id, " paired with itself");
  LUMEN_CHECK(source.unit > 0 && target.unit > 0);
  PairVariables variables;
  variables.map_ = {source, target};
  return variables;
}

PairVariables PairVariables::Relative(const Key& target_from_source, DepthVariables source,
                                      DepthVariables target) {
  PairVariables variables;
  variables.relative_ = target_from_source;
  variables.source_ = std::move(source);
  variables.target_ = std::move(target);
  return variables;
}

PairVariables PairVariables::WithoutTargetDepth() const {
  PairVariables variables = *this;
  variables.target_code_is_seen_ = false;
  variables.target_ = {};
  return variables;
}

PairVariables PairVariables::WithoutCodes() const {
  PairVariables variables = *this;
  variables.source_code_is_seen_ = false;
  variables.target_code_is_seen_ = false;
  variables.source_.code_key.reset();
  variables.target_.code_key.reset();
  return variables;
}

std::vector<Key> PairVariables::Keys() const {
  if (map_) return {map_->source.GetKey(), map_->target.GetKey()};
  std::vector<Key> keys{relative_};
  for (const auto& key : {source_.log_scale_key, source_.code_key, target_.log_scale_key, target_.code_key}) {
    if (key) keys.push_back(*key);
  }
  return keys;
}

PairState PairVariables::Resolve(const Values& values) const {
  PairState state;
  if (map_) {
    const KeyframeValue& source = values.Keyframe(map_->source.GetKey());
    const KeyframeValue& target = values.Keyframe(map_->target.GetKey());
    const auto pose = [](const Sim3& place) { return Rigid3(place.Rotation(), place.Translation()); };
    state.target_from_source = pose(target.world_from_keyframe).Inverse() * pose(source.world_from_keyframe);
    state.source_log_scale = map_->source.LogScale(source);
    state.target_log_scale = map_->target.LogScale(target);
    state.source_code = source.code;
    state.target_code = target.code;
    return state;
  }
  const auto log_scale = [&](const DepthVariables& depth) {
    return depth.log_scale_key ? values.LogScale(*depth.log_scale_key) : depth.log_scale;
  };
  const auto code = [&](const DepthVariables& depth) {
    return depth.code_key ? values.Code(*depth.code_key) : depth.code;
  };
  state.target_from_source = values.Pose(relative_);
  state.source_log_scale = log_scale(source_);
  state.target_log_scale = log_scale(target_);
  state.source_code = code(source_);
  state.target_code = code(target_);
  return state;
}

int PairVariables::LocalDimension(const PairState& state) const {
  return kCodes + (SourceCodeIsFree() ? static_cast<int>(state.source_code.size()) : 0) +
         (TargetCodeIsFree() ? static_cast<int>(state.target_code.size()) : 0);
}

NormalBlock PairVariables::Expand(const PairSystem& system, const Values& values) const {
  return map_ ? ExpandToKeyframes(system, values) : ExpandToRelative(system, values);
}

namespace {

// Where a run of local unknowns stands and where it goes.
struct Segment {
  int from, to, size;
};

void CopySegments(const PairSystem& system, const std::vector<Segment>& segments, NormalBlock& block) {
  for (const Segment& s : segments) {
    block.b.segment(s.to, s.size) = system.b.segment(s.from, s.size);
    for (const Segment& t : segments) {
      block.H.block(s.to, t.to, s.size, t.size) = system.H.block(s.from, t.from, s.size, t.size);
    }
  }
}

NormalBlock EmptyBlock(const std::vector<Key>& keys, const Values& values, const PairSystem& system) {
  NormalBlock block{BlockLayout(keys, values)};
  block.error = system.error;
  block.count = system.count;
  return block;
}

}  // namespace

// With S = (s, R, t) and (R, t) = target_from_source, tangents d = (v, w, λ) of source and target in their
// own frames move target_from_source, on the left, by
//   s_source R v_source + [t]× R w_source − s_target v_target,   R w_source − w_target
// and each log-scale by its own λ.
NormalBlock PairVariables::ExpandToKeyframes(const PairSystem& system, const Values& values) const {
  constexpr int kPlace = KeyframeValue::kPlace;
  NormalBlock block = EmptyBlock(Keys(), values, system);
  const Sim3& source = values.Keyframe(map_->source.GetKey()).world_from_keyframe;
  const Sim3& target = values.Keyframe(map_->target.GetKey()).world_from_keyframe;
  const Eigen::Matrix3d target_from_world = target.Rotation().conjugate().toRotationMatrix();
  const Eigen::Matrix3d rotation = target_from_world * source.Rotation().toRotationMatrix();
  const Eigen::Vector3d translation = target_from_world * (source.Translation() - target.Translation());
  Eigen::Matrix<double, kCodes, 2 * kPlace> by_places = Eigen::Matrix<double, kCodes, 2 * kPlace>::Zero();
  by_places.block<3, 3>(0, 0) = source.Scale() * rotation;
  by_places.block<3, 3>(0, 3) = Hat(translation) * rotation;
  by_places.block<3, 3>(3, 3) = rotation;
  by_places(kSourceScale, 6) = 1;
  by_places.block<3, 3>(0, kPlace).diagonal().setConstant(-target.Scale());
  by_places.block<3, 3>(3, kPlace + 3).diagonal().setConstant(-1);
  by_places(kTargetScale, kPlace + 6) = 1;

  std::vector<Segment> codes;
  int from = kCodes;
  for (int side = 0; side < 2; ++side) {
    if (!(side == 0 ? SourceCodeIsFree() : TargetCodeIsFree())) continue;
    const int size = block.layout.Dimension(side) - kPlace;
    codes.push_back({from, block.layout.Offset(side) + kPlace, size});
    from += size;
  }
  LUMEN_CHECK(from == system.b.size(), "a system of another size than its variables");
  const Eigen::MatrixXd cross = by_places.transpose() * system.H.topRows<kCodes>();
  const Eigen::Matrix<double, 2 * kPlace, 2 * kPlace> places = cross.leftCols<kCodes>() * by_places;
  const Eigen::Matrix<double, 2 * kPlace, 1> gradient = by_places.transpose() * system.b.head<kCodes>();
  for (int i = 0; i < 2; ++i) {
    const int row = block.layout.Offset(i);
    block.b.segment<kPlace>(row) = gradient.segment<kPlace>(i * kPlace);
    for (int j = 0; j < 2; ++j) {
      block.H.block<kPlace, kPlace>(row, block.layout.Offset(j)) =
          places.block<kPlace, kPlace>(i * kPlace, j * kPlace);
    }
    for (const Segment& s : codes) {
      block.H.block(row, s.to, kPlace, s.size) = cross.block(i * kPlace, s.from, kPlace, s.size);
      block.H.block(s.to, row, s.size, kPlace) = block.H.block(row, s.to, kPlace, s.size).transpose();
    }
  }
  CopySegments(system, codes, block);
  return block;
}

NormalBlock PairVariables::ExpandToRelative(const PairSystem& system, const Values& values) const {
  NormalBlock block = EmptyBlock(Keys(), values, system);
  std::vector<Segment> segments{{0, 0, Rigid3::kDimension}};
  const auto take = [&](const std::optional<Key>& key, int from) {
    if (!key) return 0;
    const int index = block.layout.IndexOf(*key);
    segments.push_back({from, block.layout.Offset(index), block.layout.Dimension(index)});
    return block.layout.Dimension(index);
  };
  take(source_.log_scale_key, kSourceScale);
  take(target_.log_scale_key, kTargetScale);
  const int source_code_size = take(source_.code_key, kCodes);
  take(target_.code_key, kCodes + source_code_size);
  CopySegments(system, segments, block);
  return block;
}

}  // namespace lumen
