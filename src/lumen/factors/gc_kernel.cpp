#include "lumen/factors/gc_kernel.h"

#include "lumen/factors/bilinear.h"
#include "lumen/factors/warp.h"
#include "lumen/geometry/robust_kernels.h"

namespace lumen {

namespace {

// The derivative at a pixel along one axis, from its depth and its two neighbours' where they are content.
template <typename T>
T Difference(const T* centre, const T* before, const T* after) {
  const T scale = before != centre && after != centre ? T(0.5) : T(1);
  return scale * (*after - *before);
}

struct GcSample {
  double residual = 0;
  Eigen::RowVectorXd by_unknowns;
};

std::optional<GcSample> EvaluateSample(const GcProblem& problem, const PairState& state,
                                       const DepthField<double>& field, int sample) {
  const KeyframeSamples& source = *problem.source;
  const View& view = *problem.target->frame->view;
  if (IsHidden(problem.hidden, sample)) return std::nullopt;
  const double source_scale = std::exp(state.source_log_scale);
  const double depth =
      DepthOf(source.AverageDepth(sample), source.Bases(sample), source_scale, state.source_code);
  const auto point = WarpPoint(state.target_from_source, source.Ray(sample), depth, view.camera);
  if (!point) return std::nullopt;
  Matrix23d uv_by_x;
  const auto uv = view.camera.Project(point->x_in_target, &uv_by_x);
  if (!uv || !IsContent(view.mask, *uv)) return std::nullopt;

  const auto cell = CellAt<double>(uv->x(), uv->y(), field.width, field.height);
  const int pixel = cell.PixelIndex(field.width);
  const auto blend = [&](int channel, const std::array<double, 4>& weights) {
    return Blend(field.values.data() + channel, pixel, field.width, 4, weights);
  };
  const double target_depth = blend(0, cell.Weights());
  const Eigen::RowVector2d gradient =
      problem.exact_derivative ? Eigen::RowVector2d(blend(0, cell.WeightsByU()), blend(0, cell.WeightsByV()))
                               : Eigen::RowVector2d(blend(1, cell.Weights()), blend(2, cell.Weights()));

  GcSample result;
  result.residual = (view.camera.Depth(point->x_in_target) - target_depth) / source_scale;
  // Moving the point changes its own depth and where the target's is read.
  const Eigen::RowVector3d by_x =
      (view.camera.DepthJacobian(point->x_in_target) - gradient * uv_by_x) / source_scale;
  const double by_depth = by_x.dot(point->x_by_depth);
  result.by_unknowns.setZero(problem.LocalDimension());
  result.by_unknowns.head<6>() = by_x * point->x_by_pose;
  // The residual is measured in the source's scale, hence the second term.
  result.by_unknowns[kSourceScale] = by_depth * depth - result.residual;
  result.by_unknowns[kTargetScale] = -target_depth / source_scale;
  int column = kCodes;
  if (problem.source_code_is_free) {
    const Eigen::Map<const Eigen::RowVectorXf> bases(source.Bases(sample), source.NumBases());
    result.by_unknowns.segment(column, source.NumBases()) = by_depth * source_scale * bases.cast<double>();
    column += source.NumBases();
  }
  if (problem.target_code_is_free) {
    const Image<float>& bases = problem.target->depth.bases;
    const double ratio = std::exp(state.target_log_scale) / source_scale;
    for (int k = 0; k < bases.Channels(); ++k) {
      result.by_unknowns[column + k] =
          -ratio * Blend(bases.Data() + k, pixel, field.width, bases.Channels(), cell.Weights());
    }
  }
  return result;
}

}  // namespace

template <typename T>
DepthField<T> MakeDepthField(const GcProblem& problem, const PairState& state) {
  const DepthBasis& depth = problem.target->depth;
  const Mask& mask = problem.target->frame->view->mask;
  const double scale = std::exp(state.target_log_scale);
  DepthField<T> field{mask.Width(), mask.Height(), std::vector<T>(mask.Size() * 4, T(0))};
  T* values = field.values.data();
  for (size_t i = 0; i < mask.Size(); ++i) {
    values[4 * i] = static_cast<T>(DepthOf(depth.average.Data()[i],
                                           depth.bases.Data() + i * static_cast<size_t>(depth.NumBases()),
                                           scale, state.target_code));
  }
  if (problem.exact_derivative) return field;
  const auto neighbour = [&](int x, int y, int dx, int dy) {
    const bool valid = mask.Contains(x + dx, y + dy) && mask(x + dx, y + dy) != 0;
    return values + 4 * ((y + (valid ? dy : 0)) * field.width + x + (valid ? dx : 0));
  };
  for (int y = 0; y < field.height; ++y) {
    for (int x = 0; x < field.width; ++x) {
      T* centre = values + 4 * (y * field.width + x);
      centre[1] = Difference<T>(centre, neighbour(x, y, -1, 0), neighbour(x, y, 1, 0));
      centre[2] = Difference<T>(centre, neighbour(x, y, 0, -1), neighbour(x, y, 0, 1));
    }
  }
  return field;
}

template DepthField<double> MakeDepthField<double>(const GcProblem&, const PairState&);
template DepthField<float> MakeDepthField<float>(const GcProblem&, const PairState&);

PairSystem SumGcPlain(const GcProblem& problem, const PairState& state, const DepthField<double>& field,
                      SampleRange range, bool with_derivatives) {
  PairSystem sum(problem.LocalDimension());
  for (int sample = range.begin; sample < range.end; ++sample) {
    const auto evaluated = EvaluateSample(problem, state, field, sample);
    if (!evaluated) continue;
    const double r = evaluated->residual;
    const RobustValue robust = Cauchy(r * r, problem.threshold);
    sum.error += 0.5 * robust.rho;
    ++sum.count;
    if (!with_derivatives) continue;
    const Eigen::RowVectorXd& j = evaluated->by_unknowns;
    sum.H.noalias() += robust.weight * j.transpose() * j;
    sum.b.noalias() += robust.weight * r * j.transpose();
  }
  return sum;
}

Eigen::VectorXd StackGcResiduals(const GcProblem& problem, const PairState& state,
                                 Eigen::MatrixXd* jacobian) {
  const int samples = problem.source->Size();
  Eigen::VectorXd residuals = Eigen::VectorXd::Zero(samples);
  if (jacobian != nullptr) jacobian->setZero(samples, problem.LocalDimension());
  const DepthField<double> field = MakeDepthField<double>(problem, state);
  for (int sample = 0; sample < samples; ++sample) {
    const auto evaluated = EvaluateSample(problem, state, field, sample);
    if (!evaluated) continue;
    residuals[sample] = evaluated->residual;
    if (jacobian != nullptr) jacobian->row(sample) = evaluated->by_unknowns;
  }
  return residuals;
}

}  // namespace lumen
