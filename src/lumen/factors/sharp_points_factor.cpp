#include "lumen/factors/sharp_points_factor.h"

#include <cmath>

#include "lumen/base/error.h"
#include "lumen/geometry/robust_kernels.h"

namespace lumen {

namespace {

constexpr int kPlace = KeyframeValue::kPlace;
constexpr double kLeastShare = 0.05;  // of the average depth: a basis never says less
using Matrix37d = Eigen::Matrix<double, 3, kPlace>;
using Matrix27d = Eigen::Matrix<double, 2, kPlace>;

std::vector<Key> KeysOf(const MapSide& source, const std::vector<MapSide>& targets) {
  std::vector<Key> keys;
  keys.reserve(targets.size() + 1);
  for (const MapSide& target : targets) keys.push_back(target.GetKey());
  keys.push_back(source.GetKey());  // what the others are seen from
  return keys;
}

// How a point moves with the tangent (v, w, λ) of the similarity it is subject to.
Matrix37d ByTangent(const Eigen::Vector3d& x) {
  Matrix37d by;
  by << Eigen::Matrix3d::Identity(), -Hat(x), x;
  return by;
}

// b ln(1 + a/b): a near zero.
RobustValue Robust(double squared, double bound) {
  const RobustValue value = Cauchy(squared, bound);
  return {bound * value.rho, bound * value.weight};
}

}  // namespace

void SharpPointsOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("weight", weight, {.min = 0, .help = "weight of a point"});
  visitor.Field("robust", robust,
                {.min = 1e-3, .help = "standard deviations beyond which a sighting loses its pull"});
  visitor.Field("depth_sigma", depth_sigma,
                {.min = 1e-4, .help = "how exact the basis's depth is thought to be"});
  visitor.Field("depth_weight", depth_weight,
                {.min = 0, .help = "of the depth by the basis, against a sighting"});
}

SharpPointsFactor::SharpPointsFactor(const MapSide& source, const std::vector<MapSide>& targets,
                                     const UnifiedCamera& camera, std::vector<SharpPoint> points,
                                     const SharpPointsOptions& options)
    : RelativeFactor(KeysOf(source, targets)),
      source_(source),
      targets_(targets),
      camera_(camera),
      points_(std::move(points)),
      options_(options) {
  LUMEN_CHECK(!points_.empty() && options.depth_sigma > 0 && options.robust > 0);
  for (const SharpPoint& point : points_) {
    LUMEN_CHECK(point.average > 0 && point.ray.allFinite());
    for (const PointSighting& sighting : point.sightings) {
      LUMEN_CHECK(sighting.target >= 0 && static_cast<size_t>(sighting.target) < targets_.size());
      LUMEN_CHECK(sighting.pixel.allFinite() && sighting.root.allFinite());
    }
  }
}

// The source's own frame in each target's, in units of the two: what a camera sees does not depend on the
// target's.
struct SharpPointsFactor::State {
  struct Target {
    Eigen::Matrix3d turn;  // scale and rotation
    Eigen::Vector3d shift;
  };
  std::vector<Target> targets;
  Eigen::VectorXd code;
};

SharpPointsFactor::State SharpPointsFactor::Resolve(const Values& values) const {
  State state;
  const KeyframeValue& source = values.Keyframe(source_.GetKey());
  state.code = source.code;
  for (const MapSide& target : targets_) {
    const Sim3 from_source =
        values.Keyframe(target.GetKey()).world_from_keyframe.Inverse() * source.world_from_keyframe;
    state.targets.push_back(
        {from_source.Scale() * from_source.Rotation().toRotationMatrix(), from_source.Translation()});
  }
  return state;
}

namespace {

// ln D in the keyframe's own unit, and how it changes with the code.
double LogDepth(const SharpPoint& point, const Eigen::VectorXd& code, double unit, Eigen::VectorXd* by_code) {
  const double least = kLeastShare * point.average;
  const double depth = point.average + (point.bases.size() > 0 ? point.bases.dot(code) : 0.0);
  if (by_code != nullptr) {
    if (depth > least) {
      *by_code = point.bases / depth;
    } else {
      by_code->setZero(point.bases.size());
    }
  }
  return std::log(std::max(depth, least) / unit);
}

}  // namespace

// A point in a target's frame and picture, against where it was seen there; all whitened.
struct SharpPointsFactor::Sight {
  Eigen::Vector3d along, there;  // what the depth moves it by, and where it is
  Matrix23d by_there;
  Eigen::Vector2d residual;
  RobustValue robust;

  Eigen::Vector2d ByDepth() const { return by_there * along; }
};

// Nothing for a point behind the camera.
std::optional<SharpPointsFactor::Sight> SharpPointsFactor::See(const State& state,
                                                               const PointSighting& sighting,
                                                               const Eigen::Vector3d& here) const {
  const State::Target& target = state.targets[static_cast<size_t>(sighting.target)];
  Sight sight;
  sight.along = target.turn * here;
  sight.there = sight.along + target.shift;
  if (!camera_.IsBefore(sight.there, 0)) return std::nullopt;
  const auto pixel = camera_.Project(sight.there, &sight.by_there);
  if (!pixel) return std::nullopt;
  sight.by_there = sighting.root * sight.by_there;
  sight.residual = sighting.root * (*pixel - sighting.pixel);
  sight.robust = Robust(sight.residual.squaredNorm(), options_.robust * options_.robust);
  return sight;
}

double SharpPointsFactor::ErrorAt(const State& state, const SharpPoint& point, double log_depth) const {
  const double bound = options_.robust * options_.robust;
  const double off = (log_depth - LogDepth(point, state.code, source_.unit, nullptr)) / options_.depth_sigma;
  double error = options_.depth_weight * Robust(off * off, bound).rho;
  const Eigen::Vector3d here = std::exp(log_depth) * point.ray;
  for (const PointSighting& sighting : point.sightings) {
    // Behind the camera counts as far off, whatever the rest of the path says.
    constexpr double kBehind = 1e4;
    const auto sight = See(state, sighting, here);
    error += sight ? sight->robust.rho : Robust(kBehind, bound).rho;
  }
  return 0.5 * options_.weight * error;
}

// The depth of its own that fits a point best, found from the basis's.
double SharpPointsFactor::Solve(const State& state, const SharpPoint& point) const {
  constexpr int kSteps = 25;
  constexpr double kLargestStep = 0.2;
  const double bound = options_.robust * options_.robust;
  const double by_basis = LogDepth(point, state.code, source_.unit, nullptr);
  const double stiffness = options_.depth_weight / (options_.depth_sigma * options_.depth_sigma);
  double log_depth = by_basis;
  for (int i = 0; i < kSteps; ++i) {
    const double off = log_depth - by_basis;
    const double pull =
        stiffness * Robust(off * off / (options_.depth_sigma * options_.depth_sigma), bound).weight;
    double curvature = pull, gradient = pull * off;
    const Eigen::Vector3d here = std::exp(log_depth) * point.ray;
    for (const PointSighting& sighting : point.sightings) {
      const auto sight = See(state, sighting, here);
      if (!sight) continue;
      const Eigen::Vector2d by_depth = sight->ByDepth();
      curvature += sight->robust.weight * by_depth.squaredNorm();
      gradient += sight->robust.weight * by_depth.dot(sight->residual);
    }
    if (!(curvature > 0)) break;
    const double step = std::clamp(-gradient / curvature, -kLargestStep, kLargestStep);
    log_depth += step;
    if (std::abs(step) < 1e-6) break;
  }
  return log_depth;
}

double SharpPointsFactor::OwnDepth(const Values& values, int point) const {
  const State state = Resolve(values);
  const SharpPoint& which = points_[static_cast<size_t>(point)];
  return Solve(state, which) - LogDepth(which, state.code, source_.unit, nullptr);
}

double SharpPointsFactor::Error(const Values& values) const {
  const State state = Resolve(values);
  double error = 0;
  for (const SharpPoint& point : points_) error += ErrorAt(state, point, Solve(state, point));
  return error;
}

// What points add, by the source's place and code and the targets' places.
struct SharpPointsFactor::Sum {
  Sum(int source_dimension, int targets, size_t points)
      : first_target(source_dimension),
        H(Eigen::MatrixXd::Zero(source_dimension + kPlace * targets, source_dimension + kPlace * targets)),
        b(Eigen::VectorXd::Zero(source_dimension + kPlace * targets)),
        by_depths(Eigen::MatrixXd::Zero(b.size(), static_cast<Eigen::Index>(points))) {}

  int first_target;
  Eigen::MatrixXd H;
  Eigen::VectorXd b;
  Eigen::MatrixXd by_depths;  // how all else couples with each point's depth, by the root of its curvature
  double error = 0;
};

void SharpPointsFactor::Add(const State& state, int number, Sum& sum) const {
  const SharpPoint& point = points_[static_cast<size_t>(number)];
  const double bound = options_.robust * options_.robust;
  const double log_depth = Solve(state, point);
  sum.error += ErrorAt(state, point, log_depth);
  auto coupling = sum.by_depths.col(number);
  double curvature = 0, gradient = 0;

  Eigen::VectorXd by_code;
  const double off = log_depth - LogDepth(point, state.code, source_.unit, &by_code);
  const double variance = options_.depth_sigma * options_.depth_sigma;
  const double pull =
      options_.weight * options_.depth_weight / variance * Robust(off * off / variance, bound).weight;
  const int codes = static_cast<int>(by_code.size());
  curvature += pull;
  gradient += pull * off;
  sum.H.block(kPlace, kPlace, codes, codes).noalias() += pull * by_code * by_code.transpose();
  sum.b.segment(kPlace, codes) -= pull * off * by_code;
  coupling.segment(kPlace, codes) = -pull * by_code;

  const Eigen::Vector3d here = std::exp(log_depth) * point.ray;
  const Matrix37d here_by_source = ByTangent(here);
  for (const PointSighting& sighting : point.sightings) {
    const auto sight = See(state, sighting, here);
    if (!sight) continue;
    const double weight = options_.weight * sight->robust.weight;
    const Eigen::Matrix3d& turn = state.targets[static_cast<size_t>(sighting.target)].turn;
    const Matrix27d by_source = sight->by_there * turn * here_by_source;
    const Matrix27d by_target = -sight->by_there * ByTangent(sight->there);
    const Eigen::Vector2d by_depth = sight->ByDepth();
    const int at = sum.first_target + kPlace * sighting.target;
    sum.H.topLeftCorner<kPlace, kPlace>().noalias() += weight * by_source.transpose() * by_source;
    sum.H.block<kPlace, kPlace>(at, at).noalias() += weight * by_target.transpose() * by_target;
    sum.H.block<kPlace, kPlace>(0, at).noalias() += weight * by_source.transpose() * by_target;
    sum.b.head<kPlace>().noalias() += weight * by_source.transpose() * sight->residual;
    sum.b.segment<kPlace>(at).noalias() += weight * by_target.transpose() * sight->residual;
    coupling.head<kPlace>().noalias() += weight * by_source.transpose() * by_depth;
    coupling.segment<kPlace>(at).noalias() += weight * by_target.transpose() * by_depth;
    curvature += weight * by_depth.squaredNorm();
    gradient += weight * by_depth.dot(sight->residual);
  }
  // The depth's own equation, taken into the others.
  if (!(curvature > 0)) {
    coupling.setZero();
    return;
  }
  sum.b -= gradient / curvature * coupling;
  coupling /= std::sqrt(curvature);
}

NormalBlock SharpPointsFactor::Linearize(const Values& values) const {
  const State state = Resolve(values);
  NormalBlock block{BlockLayout(Keys(), values)};
  const int last = block.layout.Size() - 1;
  Sum sum(block.layout.Dimension(last), last, points_.size());
  for (int i = 0; i < static_cast<int>(points_.size()); ++i) Add(state, i, sum);
  sum.H.selfadjointView<Eigen::Upper>().rankUpdate(sum.by_depths, -1);
  sum.H.triangularView<Eigen::StrictlyLower>() = sum.H.transpose();
  // From (source | targets' places) to (targets with their codes | source).
  const auto from = [&](int i) { return i == last ? 0 : sum.first_target + kPlace * i; };
  const auto size = [&](int i) { return i == last ? sum.first_target : kPlace; };
  for (int i = 0; i <= last; ++i) {
    block.b.segment(block.layout.Offset(i), size(i)) = sum.b.segment(from(i), size(i));
    for (int j = 0; j <= last; ++j) {
      block.H.block(block.layout.Offset(i), block.layout.Offset(j), size(i), size(j)) =
          sum.H.block(from(i), from(j), size(i), size(j));
    }
  }
  block.error = sum.error;
  block.count = static_cast<int64_t>(points_.size());
  return block;
}

}  // namespace lumen
