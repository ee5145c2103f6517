#include "lumen/factors/fm_kernel.h"

#include "lumen/factors/bilinear.h"
#include "lumen/factors/warp.h"
#include "lumen/geometry/robust_kernels.h"

namespace lumen {

namespace {

int LocalDimension(const FmProblem& problem) {
  return kCodes + (problem.source_code_is_free ? problem.source->NumBases() : 0);
}

// The image motion of one sample by all local unknowns.
struct SampleMotion {
  Eigen::Vector2d uv;
  Eigen::Matrix<double, 2, Eigen::Dynamic> uv_by_unknowns;
  Eigen::Matrix2d uv_by_pixel;  // by the source's pixel, the depth as it is
};

std::optional<SampleMotion> ComputeMotion(const FmProblem& problem, const PairState& state, int sample) {
  const KeyframeSamples& source = *problem.source;
  if (IsHidden(problem.hidden, sample)) return std::nullopt;
  const double scale = std::exp(state.source_log_scale);
  const double depth = DepthOf(source.AverageDepth(sample), source.Bases(sample), scale, state.source_code);
  const UnifiedCamera& target_camera = problem.target->view->camera;
  const auto point = WarpPoint(state.target_from_source, source.Ray(sample), depth, target_camera);
  if (!point) return std::nullopt;
  Matrix23d uv_by_x;
  const auto uv = target_camera.Project(point->x_in_target, &uv_by_x);
  if (!uv || !IsContent(problem.target->view->mask, *uv)) return std::nullopt;
  SampleMotion motion;
  motion.uv = *uv;
  const UnifiedCamera& camera = source.keyframe->frame->view->camera;
  Matrix32d ray_by_plane;
  ray_by_plane << Eigen::Matrix2d::Identity(), camera.RayZJacobian(source.Ray(sample));
  motion.uv_by_pixel = depth * uv_by_x * state.target_from_source.RotationMatrix() * ray_by_plane *
                       Eigen::Vector2d(1 / camera.fx, 1 / camera.fy).asDiagonal();
  motion.uv_by_unknowns.setZero(2, LocalDimension(problem));
  motion.uv_by_unknowns.leftCols<6>() = uv_by_x * point->x_by_pose;
  const Eigen::Vector2d uv_by_depth = uv_by_x * point->x_by_depth;
  motion.uv_by_unknowns.col(kSourceScale) = uv_by_depth * depth;  // ds/dσ = s
  if (problem.source_code_is_free) {
    const Eigen::Map<const Eigen::RowVectorXf> bases(source.Bases(sample), source.NumBases());
    motion.uv_by_unknowns.rightCols(source.NumBases()) = uv_by_depth * scale * bases.cast<double>();
  }
  return motion;
}

// √w (F_tgt(uv) − F_src) on one level, and its derivative by the level-0 pixel.
void LevelResidual(const FmProblem& problem, int sample, int level, const Eigen::Vector2d& uv,
                   Eigen::Ref<Eigen::VectorXd> residual, Eigen::Ref<Eigen::MatrixXd> by_uv) {
  const Image<float>& map = problem.TargetFeatures().levels[static_cast<size_t>(level)].values;
  const int channels = map.Channels() / 3;
  const double scale = 1 << level;
  const double root = std::sqrt(problem.level_weights[static_cast<size_t>(level)]);
  const auto cell =
      CellAt<double>(AtLevelScale(uv.x(), scale), AtLevelScale(uv.y(), scale), map.Width(), map.Height());
  const int pixel = cell.PixelIndex(map.Width());
  const auto blend = [&](int channel, const std::array<double, 4>& weights) {
    return Blend(map.Data() + channel, pixel, map.Width(), map.Channels(), weights);
  };
  const float* source = problem.source->Features(sample, level);
  for (int c = 0; c < channels; ++c) {
    residual[c] = root * (blend(c, cell.Weights()) - source[c]);
    const double by_u =
        problem.exact_derivative ? blend(c, cell.WeightsByU()) : blend(channels + c, cell.Weights());
    const double by_v =
        problem.exact_derivative ? blend(c, cell.WeightsByV()) : blend(2 * channels + c, cell.Weights());
    by_uv.row(c) << root / scale * by_u, root / scale * by_v;
  }
}

// The finest level: half of the target's gradient gives way to the source's.
void MixInSourceGradient(const FmProblem& problem, int sample, const Eigen::Matrix2d& uv_by_pixel,
                         Eigen::Ref<Eigen::MatrixXd> by_uv) {
  const Image<float>& map = problem.source->keyframe->frame->features.levels[0].values;
  const int x = problem.source->pixels[static_cast<size_t>(sample)] % map.Width();
  const int y = problem.source->pixels[static_cast<size_t>(sample)] / map.Width();
  if (!HasNeighbours(x, y, map.Width(), map.Height())) return;
  if (!(std::abs(uv_by_pixel.determinant()) > kLeastStretch)) return;
  const Eigen::Matrix2d pixel_by_uv = uv_by_pixel.inverse();
  const double root = std::sqrt(problem.level_weights[0]);
  for (int c = 0; c < problem.source->FeatureChannels(); ++c) {
    const Eigen::RowVector2d gradient(0.5 * (map(x + 1, y, c) - map(x - 1, y, c)),
                                      0.5 * (map(x, y + 1, c) - map(x, y - 1, c)));
    by_uv.row(c) = 0.5 * (by_uv.row(c) + root * gradient * pixel_by_uv);
  }
}

// δ ln(1 + e / δ) and its derivative; e itself where there is no threshold.
RobustValue CauchyOf(double squared, double threshold) {
  if (threshold <= 0) return {squared, 1};
  return {threshold * std::log1p(squared / threshold), 1 / (1 + squared / threshold)};
}

// All levels of one sample, one after the other.
void SampleResidual(const FmProblem& problem, int sample, const SampleMotion& motion,
                    Eigen::VectorXd& residual, Eigen::MatrixXd& by_uv) {
  const int channels = problem.source->FeatureChannels();
  residual.resize(problem.levels * channels);
  by_uv.resize(problem.levels * channels, 2);
  for (int level = 0; level < problem.levels; ++level) {
    LevelResidual(problem, sample, level, motion.uv, residual.segment(level * channels, channels),
                  by_uv.middleRows(level * channels, channels));
  }
  if (problem.symmetric) MixInSourceGradient(problem, sample, motion.uv_by_pixel, by_uv.topRows(channels));
}

}  // namespace

PairSystem SumFmPlain(const FmProblem& problem, const PairState& state, SampleRange range,
                      bool with_derivatives) {
  PairSystem sum(LocalDimension(problem));
  Eigen::VectorXd residual;
  Eigen::MatrixXd by_uv;
  for (int sample = range.begin; sample < range.end; ++sample) {
    const auto motion = ComputeMotion(problem, state, sample);
    if (!motion) continue;
    SampleResidual(problem, sample, *motion, residual, by_uv);
    const double squared = residual.squaredNorm();
    const RobustValue robust = CauchyOf(squared, problem.robust_threshold);
    if (with_derivatives) {
      sum.Add(residual, by_uv * motion->uv_by_unknowns, robust.weight);
      sum.error += 0.5 * (robust.rho - robust.weight * squared);
    } else {
      sum.error += 0.5 * robust.rho;
      ++sum.count;
    }
  }
  return sum;
}

Eigen::VectorXd StackFmResiduals(const FmProblem& problem, const PairState& state,
                                 Eigen::MatrixXd* jacobian) {
  const int rows = problem.levels * problem.source->FeatureChannels();
  const int samples = problem.source->Size();
  Eigen::VectorXd stacked = Eigen::VectorXd::Zero(rows * samples);
  if (jacobian != nullptr) jacobian->setZero(rows * samples, LocalDimension(problem));
  Eigen::VectorXd residual;
  Eigen::MatrixXd by_uv;
  for (int sample = 0; sample < samples; ++sample) {
    const auto motion = ComputeMotion(problem, state, sample);
    if (!motion) continue;
    SampleResidual(problem, sample, *motion, residual, by_uv);
    stacked.segment(sample * rows, rows) = residual;
    if (jacobian != nullptr) jacobian->middleRows(sample * rows, rows) = by_uv * motion->uv_by_unknowns;
  }
  return stacked;
}

}  // namespace lumen
