#include "lumen/slam/map_certainty.h"

#include <Eigen/Eigenvalues>
#include <cmath>
#include <numbers>

#include "lumen/base/parallel.h"
#include "lumen/geometry/so3.h"
#include "lumen/slam/mapper.h"

namespace lumen {

namespace {

constexpr int kPlace = KeyframeValue::kPlace;
using Matrix3x7d = Eigen::Matrix<double, 3, kPlace>;

// A keyframe as the smoother has it; its tangent x = (v, w, λ) is in its own unit and frame.
struct Lying {
  Key key;
  Eigen::Matrix3d R;
  Eigen::Vector3d centre;
  double scale = 1;
  double weight = 1;

  // From the tangent to map units.
  Matrix7d Units() const {
    Matrix7d units = Matrix7d::Identity();
    units.topLeftCorner<3, 3>() *= scale;
    return units;
  }
};

std::vector<Lying> Look(const IncrementalSmoother& smoother, const std::vector<WeightedKeyframe>& keyframes) {
  std::vector<Lying> lying;
  for (const WeightedKeyframe& keyframe : keyframes) {
    const Key key = KeyframeKey(keyframe.id);
    const Sim3& place = smoother.Estimate().Keyframe(key).world_from_keyframe;
    lying.push_back(
        {key, place.Rotation().toRotationMatrix(), place.Translation(), place.Scale(), keyframe.weight});
  }
  return lying;
}

// The similarity that a path's errors are aligned by: small motions of the world about its middle, (move,
// turn, growth), and how the keyframes' tangents make it up.
struct Alignment {
  Eigen::Vector3d middle = Eigen::Vector3d::Zero();
  Eigen::Matrix3d extent = Eigen::Matrix3d::Zero();  // covariance of the positions
  std::map<Key, Eigen::MatrixXd> response;           // H⁻¹ B: each tangent's covariance with it
  Matrix7d covariance = Matrix7d::Zero();

  // What it does to a position.
  Matrix3x7d At(const Lying& keyframe) const {
    const Eigen::Vector3d lever = keyframe.centre - middle;
    Matrix3x7d moved;
    moved << Eigen::Matrix3d::Identity(), -Hat(lever), lever;
    return moved;
  }
  // And to a tangent.
  Matrix7d TangentAt(const Lying& keyframe) const {
    Matrix7d moved = Matrix7d::Zero();
    moved.topRows<3>() = keyframe.R.transpose() * At(keyframe) / keyframe.scale;
    moved.block<3, 3>(3, 3) = keyframe.R.transpose();
    moved(6, 6) = 1;
    return moved;
  }
  Matrix7d ResponseOf(const Lying& keyframe) const { return response.at(keyframe.key).topRows<kPlace>(); }
};

// Directions that the positions do not determine (a straight path's roll) are not aligned.
Matrix7d PseudoInverse(const Matrix7d& normal) {
  constexpr double kNothing = 1e-10;
  const Eigen::VectorXd sizes = normal.diagonal().cwiseMax(1e-300).cwiseSqrt();
  const Matrix7d even = sizes.cwiseInverse().asDiagonal() * normal * sizes.cwiseInverse().asDiagonal();
  const Eigen::SelfAdjointEigenSolver<Matrix7d> solver(even);
  Eigen::Matrix<double, 7, 1> inverse = Eigen::Matrix<double, 7, 1>::Zero();
  for (int i = 0; i < 7; ++i) {
    const double value = solver.eigenvalues()[i];
    if (value > kNothing * solver.eigenvalues()[6]) inverse[i] = 1 / value;
  }
  const Matrix7d pseudo = solver.eigenvectors() * inverse.asDiagonal() * solver.eigenvectors().transpose();
  return sizes.cwiseInverse().asDiagonal() * pseudo * sizes.cwiseInverse().asDiagonal();
}

// Least squares over the positions, as ATE aligns: g = N⁻¹ Σ w Jᵀ (s R v) = Bᵀ x.
Alignment Align(const IncrementalSmoother& smoother, const std::vector<Lying>& keyframes) {
  Alignment alignment;
  double whole = 0;
  for (const Lying& keyframe : keyframes) {
    alignment.middle += keyframe.weight * keyframe.centre;
    whole += keyframe.weight;
  }
  alignment.middle /= whole;
  Matrix7d normal = Matrix7d::Zero();
  for (const Lying& keyframe : keyframes) {
    const Matrix3x7d jacobian = alignment.At(keyframe);
    const Eigen::Vector3d lever = keyframe.centre - alignment.middle;
    normal += keyframe.weight * jacobian.transpose() * jacobian;
    alignment.extent += keyframe.weight / whole * lever * lever.transpose();
  }
  const Matrix7d inverse = PseudoInverse(normal);
  std::map<Key, Eigen::MatrixXd> asked;
  for (const Lying& keyframe : keyframes)
    asked[keyframe.key] =
        keyframe.weight * keyframe.scale * keyframe.R.transpose() * alignment.At(keyframe) * inverse;
  alignment.response = smoother.ApplyInverse(asked, kPlace);
  for (const Lying& keyframe : keyframes)
    alignment.covariance += asked[keyframe.key].transpose() * alignment.ResponseOf(keyframe).topRows<3>();
  return alignment;
}

Matrix7d Symmetric(const Matrix7d& matrix) { return 0.5 * (matrix + matrix.transpose()); }

// A model's covariance, in map units, as errors are; but for what creeps.
PlaceCovariance Calibrate(const Matrix7d& model, double turn, double scale, const CertaintyOptions& options) {
  Vector7d times;
  times << options.across, options.across, options.along, turn, turn, turn, 0;
  PlaceCovariance covariance = times.asDiagonal() * Symmetric(model) * times.asDiagonal();
  covariance(6, 6) = scale * scale;
  return covariance;
}

PlaceCovariance CovarianceOf(const Lying& keyframe, const Eigen::MatrixXd& own, const Alignment& alignment,
                             const CertaintyOptions& options) {
  const Matrix7d response = alignment.ResponseOf(keyframe), moved = alignment.TangentAt(keyframe);
  const Matrix7d aligned = own.topLeftCorner<kPlace, kPlace>() - response * moved.transpose() -
                           moved * response.transpose() + moved * alignment.covariance * moved.transpose();
  const Matrix7d units = keyframe.Units();
  PlaceCovariance covariance = Calibrate(units * aligned * units, options.turn, options.scale, options);
  covariance.topLeftCorner<3, 3>() +=
      options.bend * options.bend * keyframe.R.transpose() * alignment.extent * keyframe.R;
  return covariance;
}

// `joint`: of the tangents of both, one after the other.
PlaceCovariance StepCovariance(const Lying& from, const Lying& to, const Eigen::MatrixXd& joint,
                               const Alignment& alignment, const CertaintyOptions& options) {
  const Eigen::Matrix3d turned = from.R.transpose() * to.R;
  const Eigen::Vector3d way = from.R.transpose() * (to.centre - from.centre);
  Eigen::Matrix<double, kPlace, 2 * kPlace> seen = Eigen::Matrix<double, kPlace, 2 * kPlace>::Zero();
  seen.block<3, 3>(0, 0) = -from.scale * Eigen::Matrix3d::Identity();
  seen.block<3, 3>(0, 3) = Hat(way);
  seen.block<3, 3>(0, 7) = to.scale * turned;
  seen.block<3, 3>(3, 3) = -turned.transpose();
  seen.block<3, 3>(3, 10) = Eigen::Matrix3d::Identity();
  seen(6, 6) = -1;
  seen(6, 13) = 1;
  // Of the alignment only the growth tells: the way is as much longer as the whole path is.
  Eigen::Matrix<double, 2 * kPlace, 1> response;
  response << alignment.ResponseOf(from).col(6), alignment.ResponseOf(to).col(6);
  Eigen::Matrix<double, kPlace, 1> grown = Eigen::Matrix<double, kPlace, 1>::Zero();
  grown.head<3>() = way;
  const Eigen::Matrix<double, kPlace, 1> together = seen * response;
  const Matrix7d aligned = seen * joint * seen.transpose() - together * grown.transpose() -
                           grown * together.transpose() +
                           alignment.covariance(6, 6) * grown * grown.transpose();
  PlaceCovariance covariance =
      Calibrate(aligned, options.step_turn, std::numbers::sqrt2 * options.scale, options);
  covariance.topLeftCorner<3, 3>() += options.drift * options.drift * way * way.transpose();
  return covariance;
}

// Windows of keyframes, since what lies between them and the tree's root is gone through once for all.
void AddSteps(const IncrementalSmoother& smoother, const std::vector<Lying>& lying,
              const std::vector<WeightedKeyframe>& keyframes, const Alignment& alignment,
              const CertaintyOptions& options, int threads, MapCertainty& certainty) {
  constexpr size_t kFirsts = 14;
  constexpr auto kStep = static_cast<size_t>(kCertaintyStep);
  if (lying.size() <= kStep) return;
  const size_t steps = lying.size() - kStep;
  certainty.steps.resize(steps);
  ParallelFor(static_cast<int64_t>((steps + kFirsts - 1) / kFirsts), threads, [&](int64_t window) {
    const size_t begin = static_cast<size_t>(window) * kFirsts, end = std::min(steps, begin + kFirsts);
    std::vector<Key> keys;
    for (size_t i = begin; i < end + kStep; ++i) keys.push_back(lying[i].key);
    const Eigen::MatrixXd joint = smoother.JointCovariance(keys, kPlace);
    for (size_t i = begin; i < end; ++i) {
      const auto a = static_cast<Eigen::Index>(kPlace * (i - begin)), b = a + kPlace * kCertaintyStep;
      Eigen::Matrix<double, 2 * kPlace, 2 * kPlace> both;
      both << joint.block<kPlace, kPlace>(a, a), joint.block<kPlace, kPlace>(a, b),
          joint.block<kPlace, kPlace>(b, a), joint.block<kPlace, kPlace>(b, b);
      certainty.steps[i] = {keyframes[i].id, keyframes[i + kStep].id,
                            StepCovariance(lying[i], lying[i + kStep], both, alignment, options)};
    }
  });
}

}  // namespace

MapCertainty MeasureCertainty(const IncrementalSmoother& smoother,
                              const std::vector<WeightedKeyframe>& keyframes, const CertaintyOptions& options,
                              int threads) {
  MapCertainty certainty;
  if (keyframes.empty()) return certainty;
  const std::vector<Lying> lying = Look(smoother, keyframes);
  const Alignment alignment = Align(smoother, lying);
  const std::map<Key, Eigen::MatrixXd> own = smoother.Covariances(kPlace);
  for (size_t i = 0; i < lying.size(); ++i)
    certainty.keyframes[keyframes[i].id] = CovarianceOf(lying[i], own.at(lying[i].key), alignment, options);
  AddSteps(smoother, lying, keyframes, alignment, options, threads, certainty);
  return certainty;
}

MapCertainty MeasureCertainty(const Mapper& mapper, const MapSnapshot& map, int submap,
                              const FrameLog& frames, const CertaintyOptions& options, int threads) {
  std::map<KeyframeId, double> weights;
  for (const KeyframeId id : mapper.KeyframesOf(submap)) weights[id] = 1;
  for (const PlacedFrame& frame : frames) {
    if (frame.reference < 0) continue;
    const auto host = weights.find(mapper.HostOf(frame.reference));
    if (host != weights.end()) host->second += 1;
  }
  std::vector<WeightedKeyframe> keyframes;
  for (const auto& [id, weight] : weights) keyframes.push_back({id, weight});
  MapCertainty certainty = MeasureCertainty(mapper.Smoother(), keyframes, options, threads);
  for (const auto& [id, keyframe] : map.keyframes) {
    if (keyframe.IsActive() || keyframe.submap != submap) continue;
    const Rigid3 host_from_keyframe =
        map.keyframes.at(keyframe.host).state.world_from_camera.Inverse() * keyframe.state.world_from_camera;
    certainty.keyframes[id] = CarryCovariance(certainty.keyframes.at(keyframe.host), host_from_keyframe);
  }
  return certainty;
}

std::optional<PlaceCovariance> FrameCovariance(const PlacedFrame& frame, const MapSnapshot& map,
                                               const MapCertainty& certainty,
                                               const CertaintyOptions& options) {
  const auto keyframe = certainty.keyframes.find(frame.reference);
  if (frame.reference < 0 || keyframe == certainty.keyframes.end()) return std::nullopt;
  const MapKeyframe& reference = map.keyframes.at(frame.reference);
  const double growth = std::exp(reference.state.log_scale - frame.reference_log_scale);
  const Rigid3 placed(frame.reference_from_camera.Rotation(),
                      growth * frame.reference_from_camera.Translation());
  PlaceCovariance covariance = CarryCovariance(keyframe->second, placed);
  if (frame.reference_from_camera.Translation().isZero()) return covariance;  // the keyframe itself
  const double position = options.frame_position * MeanDepth(reference);
  const double turn = options.frame_degrees * std::numbers::pi / 180;
  covariance.diagonal().head<3>().array() += position * position;
  covariance.diagonal().segment<3>(3).array() += turn * turn;
  return covariance;
}

}  // namespace lumen
