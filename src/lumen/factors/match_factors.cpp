#include "lumen/factors/match_factors.h"

#include <cmath>

#include "lumen/base/error.h"
#include "lumen/factors/bilinear.h"
#include "lumen/factors/keyframe_samples.h"
#include "lumen/factors/warp.h"
#include "lumen/geometry/robust_kernels.h"

namespace lumen {

namespace {

void DescribeRobust(ConfigVisitor& visitor, double& weight, double& sigma, const char* unit) {
  visitor.Field("weight", weight, {.min = 0, .help = "weight of the factor"});
  visitor.Field("sigma", sigma, {.min = 1e-9, .unit = unit, .help = "threshold of the Fair loss"});
}

}  // namespace

void ReprojectionOptions::Describe(ConfigVisitor& visitor) {
  DescribeRobust(visitor, weight, sigma, "width²");
}
void MatchedGeometryOptions::Describe(ConfigVisitor& visitor) {
  DescribeRobust(visitor, weight, sigma, "mean squared depth");
}

MatchFactor::MatchFactor(const PairVariables& variables, std::shared_ptr<const Keyframe> source,
                         std::vector<Match> matches)
    : Factor(variables.Keys()),
      variables_(variables),
      source_(std::move(source)),
      matches_(std::move(matches)) {
  LUMEN_CHECK(source_ != nullptr);
  CheckDepth(*source_);
  for (const Match& match : matches_) {
    LUMEN_CHECK(source_->depth.average.Contains(match.source.x(), match.source.y()),
                "a match outside the image");
    LUMEN_CHECK(match.target.allFinite() && match.weight >= 0 && std::isfinite(match.weight));
  }
}

double MatchFactor::SourceDepth(const Match& match, const PairState& state) const {
  const int x = match.source.x();
  const int y = match.source.y();
  return DepthOf(source_->depth.average(x, y), source_->depth.bases.Pixel(x, y),
                 std::exp(state.source_log_scale), state.source_code);
}

void MatchFactor::FillSourceDepthColumns(const Match& match, const PairState& state,
                                         const Eigen::VectorXd& by_depth, Eigen::MatrixXd& jacobian) const {
  jacobian.col(kSourceScale) = by_depth * SourceDepth(match, state);  // ds/dσ = s
  if (!variables_.SourceCodeIsFree()) return;
  const int count = source_->depth.NumBases();
  const float* bases = source_->depth.bases.Pixel(match.source.x(), match.source.y());
  jacobian.middleCols(kCodes, count) = by_depth * std::exp(state.source_log_scale) *
                                       Eigen::Map<const Eigen::RowVectorXf>(bases, count).cast<double>();
}

PairSystem MatchFactor::Sum(const Values& values, bool with_derivatives) const {
  const PairState state = variables_.Resolve(values);
  LUMEN_CHECK(state.source_code.size() == source_->depth.NumBases(), "a code that does not fit its bases");
  PairSystem sum(variables_.LocalDimension(state));
  Eigen::VectorXd residual;
  Eigen::MatrixXd jacobian;
  for (const Match& match : matches_) {
    jacobian.setZero(0, 0);
    if (!Evaluate(match, state, residual, with_derivatives ? &jacobian : nullptr)) continue;
    const RobustValue robust = Fair(residual.squaredNorm(), threshold_);
    sum.error += 0.5 * match.weight * robust.rho;
    ++sum.count;
    if (!with_derivatives) continue;
    sum.H.noalias() += (match.weight * robust.weight) * jacobian.transpose() * jacobian;
    sum.b.noalias() += (match.weight * robust.weight) * jacobian.transpose() * residual;
  }
  if (sum.count == 0) sum.error = 0.5 * Fair(kNoOverlapRatio, 1).rho;
  sum.Scale(weight_ / static_cast<double>(std::max<int64_t>(sum.count, 1)));
  return sum;
}

double MatchFactor::Error(const Values& values) const { return Sum(values, false).error; }

NormalBlock MatchFactor::Linearize(const Values& values) const {
  return variables_.Expand(Sum(values, true), values);
}

// ---- RP

ReprojectionFactor::ReprojectionFactor(const PairVariables& variables, std::shared_ptr<const Keyframe> source,
                                       std::shared_ptr<const View> target, std::vector<Match> matches,
                                       const ReprojectionOptions& options)
    : MatchFactor(variables.WithoutTargetDepth(), std::move(source), std::move(matches)),
      target_(std::move(target)) {
  LUMEN_CHECK(target_ != nullptr && options.weight >= 0 && options.sigma > 0);
  const double width = target_->mask.Width();
  weight_ = options.weight;
  threshold_ = options.sigma * width * width;
}

bool ReprojectionFactor::Evaluate(const Match& match, const PairState& state, Eigen::VectorXd& residual,
                                  Eigen::MatrixXd* jacobian) const {
  const Eigen::Vector3d ray = Source().frame->view->camera.RayAtUnitDepth(match.source.x(), match.source.y());
  const auto point = WarpPoint(state.target_from_source, ray, SourceDepth(match, state), target_->camera);
  if (!point) return false;
  Matrix23d uv_by_x;
  const auto uv = target_->camera.Project(point->x_in_target, &uv_by_x);
  if (!uv) return false;
  residual = *uv - match.target;
  if (jacobian != nullptr) {
    jacobian->setZero(2, Variables().LocalDimension(state));
    jacobian->leftCols<6>() = uv_by_x * point->x_by_pose;
    FillSourceDepthColumns(match, state, uv_by_x * point->x_by_depth, *jacobian);
  }
  return true;
}

// ---- SMG

MatchedGeometryFactor::MatchedGeometryFactor(const PairVariables& variables,
                                             std::shared_ptr<const Keyframe> source,
                                             std::shared_ptr<const Keyframe> target,
                                             std::vector<Match> matches,
                                             const MatchedGeometryOptions& options)
    : MatchFactor(variables, std::move(source), std::move(matches)), target_(std::move(target)) {
  LUMEN_CHECK(target_ != nullptr && options.weight >= 0 && options.sigma > 0);
  CheckDepth(*target_);
  weight_ = options.weight;
  threshold_ = options.sigma * static_cast<double>(Source().depth.mean_square);
}

bool MatchedGeometryFactor::Evaluate(const Match& match, const PairState& state, Eigen::VectorXd& residual,
                                     Eigen::MatrixXd* jacobian) const {
  LUMEN_CHECK(state.target_code.size() == target_->depth.NumBases(), "a code that does not fit its bases");
  const View& view = *target_->frame->view;
  if (!IsContent(view.mask, match.target)) return false;
  const UnifiedCamera& source_camera = Source().frame->view->camera;
  const auto point =
      WarpPoint(state.target_from_source, source_camera.RayAtUnitDepth(match.source.x(), match.source.y()),
                SourceDepth(match, state), view.camera);
  if (!point) return false;
  // D_tgt between pixels is bilinear in its parts: average and bases.
  const DepthBasis& depth = target_->depth;
  const int width = depth.average.Width();
  const auto cell = CellAt<double>(match.target.x(), match.target.y(), width, depth.average.Height());
  const auto weights = cell.Weights();
  const int pixel = cell.PixelIndex(width);
  Eigen::RowVectorXd bases(depth.NumBases());
  for (int k = 0; k < depth.NumBases(); ++k) {
    bases[k] = Blend(depth.bases.Data() + k, pixel, width, depth.NumBases(), weights);
  }
  const double target_scale = std::exp(state.target_log_scale);
  const double target_depth =
      target_scale * (Blend(depth.average.Data(), pixel, width, 1, weights) + bases.dot(state.target_code));
  const Eigen::Vector3d ray = view.camera.RayAtUnitDepth(match.target.x(), match.target.y());
  const double inverse_scale = std::exp(-state.source_log_scale);
  residual = inverse_scale * (point->x_in_target - target_depth * ray);
  if (jacobian != nullptr) {
    jacobian->setZero(3, Variables().LocalDimension(state));
    jacobian->leftCols<6>() = inverse_scale * point->x_by_pose;
    FillSourceDepthColumns(match, state, inverse_scale * point->x_by_depth, *jacobian);
    jacobian->col(kSourceScale) -= residual;  // it is measured in the source's scale
    jacobian->col(kTargetScale) = -inverse_scale * target_depth * ray;
    if (Variables().TargetCodeIsFree()) {
      jacobian->rightCols(depth.NumBases()) = -inverse_scale * target_scale * ray * bases;
    }
  }
  return true;
}

}  // namespace lumen
