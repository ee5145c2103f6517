#include "lumen/factors/pair_variables.h"

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

DepthVariables DepthVariables::Free(int64_t id) {
  return {.log_scale_key = LogScaleKey(id), .code_key = CodeKey(id)};
}

DepthVariables DepthVariables::Fixed(double log_scale, Eigen::VectorXd code) {
  return {.log_scale = log_scale, .code = std::move(code)};
}

PairVariables PairVariables::World(int64_t source, int64_t target) {
  LUMEN_CHECK(source != target, "keyframe ", source, " paired with itself");
  PairVariables variables;
  variables.source_pose_ = PoseKey(source);
  variables.target_pose_ = PoseKey(target);
  variables.source_ = DepthVariables::Free(source);
  variables.target_ = DepthVariables::Free(target);
  return variables;
}

PairVariables PairVariables::Relative(const Key& target_from_source, DepthVariables source,
                                      DepthVariables target) {
  PairVariables variables;
  variables.source_pose_ = target_from_source;
  variables.source_ = std::move(source);
  variables.target_ = std::move(target);
  return variables;
}

PairVariables PairVariables::WithoutTargetDepth() const {
  PairVariables variables = *this;
  variables.target_ = {};
  return variables;
}

PairVariables PairVariables::WithoutCodes() const {
  PairVariables variables = *this;
  variables.source_.code_key.reset();
  variables.target_.code_key.reset();
  return variables;
}

std::vector<Key> PairVariables::Keys() const {
  std::vector<Key> keys{source_pose_};
  if (target_pose_) keys.push_back(*target_pose_);
  for (const auto& key : {source_.log_scale_key, source_.code_key, target_.log_scale_key, target_.code_key}) {
    if (key) keys.push_back(*key);
  }
  return keys;
}

PairState PairVariables::Resolve(const Values& values) const {
  const auto log_scale = [&](const DepthVariables& depth) {
    return depth.log_scale_key ? values.LogScale(*depth.log_scale_key) : depth.log_scale;
  };
  const auto code = [&](const DepthVariables& depth) {
    return depth.code_key ? values.Code(*depth.code_key) : depth.code;
  };
  PairState state;
  state.target_from_source = values.Pose(source_pose_);
  if (target_pose_)
    state.target_from_source = values.Pose(*target_pose_).Inverse() * state.target_from_source;
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
  NormalBlock block{BlockLayout(Keys(), values)};
  block.error = system.error;
  block.count = system.count;
  // The segments of the rest (scales and codes): where they are here and where they go.
  struct Segment {
    int from, to, size;
  };
  std::vector<Segment> rest;
  const auto take = [&](const std::optional<Key>& key, int from) {
    if (!key) return 0;
    const int index = block.layout.IndexOf(*key);
    rest.push_back({from, block.layout.Offset(index), block.layout.Dimension(index)});
    return block.layout.Dimension(index);
  };
  take(source_.log_scale_key, kSourceScale);
  take(target_.log_scale_key, kTargetScale);
  const int source_code_size = take(source_.code_key, kCodes);
  take(target_.code_key, kCodes + source_code_size);

  Matrix6d local_from_source = Matrix6d::Identity();
  if (target_pose_) local_from_source = values.Pose(*target_pose_).Inverse().Adjoint();
  const Matrix6d pose_hessian =
      local_from_source.transpose() * system.H.topLeftCorner<6, 6>() * local_from_source;
  const Vector6d pose_gradient = local_from_source.transpose() * system.b.head<6>();
  const Eigen::MatrixXd cross = local_from_source.transpose() * system.H.topRows<6>();
  const int poses = target_pose_ ? 2 : 1;
  for (int i = 0; i < poses; ++i) {
    const double sign_i = i == 0 ? 1 : -1;
    block.b.segment<6>(6 * i) = sign_i * pose_gradient;
    for (int j = 0; j < poses; ++j) {
      block.H.block<6, 6>(6 * i, 6 * j) = (i == j ? 1 : -1) * pose_hessian;
    }
    for (const Segment& s : rest) {
      block.H.block(6 * i, s.to, 6, s.size) = sign_i * cross.middleCols(s.from, s.size);
      block.H.block(s.to, 6 * i, s.size, 6) = block.H.block(6 * i, s.to, 6, s.size).transpose();
    }
  }
  for (const Segment& s : rest) {
    block.b.segment(s.to, s.size) = system.b.segment(s.from, s.size);
    for (const Segment& t : rest) {
      block.H.block(s.to, t.to, s.size, t.size) = system.H.block(s.from, t.from, s.size, t.size);
    }
  }
  return block;
}

}  // namespace lumen
