#include "lumen/train/alignment.h"
#include "lumen/train/lens.h"
#include "lumen/train/losses.h"

namespace lumen {

namespace {

constexpr double kMinDepth = 1e-4;        // as in factors/warp.h
constexpr double kNoOverlapSquared = 10;  // as FeatureMetricFactor
constexpr double kNoOverlapRatio = 100;   // as GC and SMG

torch::Tensor Dot(const torch::Tensor& a, const torch::Tensor& b) { return (a * b).sum(-1); }

// [I | −Hat(x)]: a point's motion by a left perturbation of the pose, (…, 3, 6).
torch::Tensor MotionByPose(const torch::Tensor& x) {
  const torch::Tensor zero = torch::zeros_like(x.select(-1, 0));
  const torch::Tensor one = torch::ones_like(zero);
  const torch::Tensor X = x.select(-1, 0);
  const torch::Tensor Y = x.select(-1, 1);
  const torch::Tensor Z = x.select(-1, 2);
  return torch::stack(
      {torch::stack({one, zero, zero, zero, Z, -Y}, -1), torch::stack({zero, one, zero, -Z, zero, X}, -1),
       torch::stack({zero, zero, one, Y, -X, zero}, -1)},
      -2);
}

// Source points in the target's frame.
struct WarpedPoints {
  torch::Tensor depth;      // (B, N)
  torch::Tensor direction;  // (B, N, 3): by depth
  torch::Tensor x;          // (B, N, 3)
  torch::Tensor positive;   // (B, N): depth is, and the point lies before the target
};

WarpedPoints WarpSamples(const torch::Tensor& camera, const torch::Tensor& rays, const torch::Tensor& average,
                         const torch::Tensor& bases, const AlignmentState& state) {
  WarpedPoints points;
  const torch::Tensor scale = torch::exp(state.log_scale).unsqueeze(1);
  points.depth = scale * (average + Dot(bases, state.code.unsqueeze(1)));
  points.direction = torch::matmul(rays, state.rotation.transpose(1, 2));
  points.x = points.depth.unsqueeze(2) * points.direction + state.translation.unsqueeze(1);
  points.positive =
      (points.depth.gt(kMinDepth) * FrontOfPoints(camera, points.x).gt(kMinDepth)).to(average.dtype());
  return points;
}

// Where they land in the picture, which count, and how that changes with the point: (B, N, 2, 3).
struct Landing {
  torch::Tensor uv, valid, by_x;
};

// Where the points would land, on content or not.
Landing Project(const AlignmentProblem& problem, const WarpedPoints& points) {
  Landing landing;
  const auto part = [&](int k) { return problem.camera.select(1, k).unsqueeze(1); };
  // Points behind the camera are pushed before it; they do not count.
  const torch::Tensor depth = torch::where(points.positive.gt(0), DepthOfPoints(problem.camera, points.x),
                                           torch::ones_like(points.depth));
  const torch::Tensor x = points.x.select(2, 0) / depth;
  const torch::Tensor y = points.x.select(2, 1) / depth;
  landing.uv = torch::stack({part(0) * x + part(2), part(1) * y + part(3)}, 2);
  const std::vector<torch::Tensor> g = DepthByPoints(problem.camera, points.x).unbind(2);
  const torch::Tensor fx = part(0) / depth;
  const torch::Tensor fy = part(1) / depth;
  landing.by_x = torch::stack({torch::stack({fx * (1 - x * g[0]), -fx * x * g[1], -fx * x * g[2]}, 2),
                               torch::stack({-fy * y * g[0], fy * (1 - y * g[1]), -fy * y * g[2]}, 2)},
                              2);
  landing.valid = points.positive;
  return landing;
}

Landing LandSamples(const AlignmentProblem& problem, const WarpedPoints& points) {
  Landing landing = Project(problem, points);
  {
    torch::NoGradGuard no_grad;
    const auto width = problem.target_mask.size(3);
    const auto height = problem.target_mask.size(2);
    const torch::Tensor u = (landing.uv.select(2, 0) + 0.5).floor();
    const torch::Tensor v = (landing.uv.select(2, 1) + 0.5).floor();
    const torch::Tensor inside =
        u.ge(0) * v.ge(0) * u.lt(static_cast<double>(width)) * v.lt(static_cast<double>(height));
    const torch::Tensor index = (v.clamp(0, static_cast<double>(height - 1)) * static_cast<double>(width) +
                                 u.clamp(0, static_cast<double>(width - 1)))
                                    .to(torch::kLong);
    const torch::Tensor content = problem.target_mask.flatten(1).gather(1, index);
    landing.valid = points.positive * inside.to(points.depth.dtype()) * content * problem.weight;
  }
  return landing;
}

// The columns of pose, log-scale and code of something that changes with the point by `by_x` (B, N, R, 3).
torch::Tensor ExpandColumns(const torch::Tensor& by_x, const WarpedPoints& points, const torch::Tensor& bases,
                            const AlignmentState& state, const AlignmentOptions& options) {
  const torch::Tensor by_pose = torch::matmul(by_x, MotionByPose(points.x));
  const torch::Tensor by_depth = torch::matmul(by_x, points.direction.unsqueeze(3));  // (B, N, R, 1)
  const torch::Tensor by_scale = by_depth * points.depth.unsqueeze(2).unsqueeze(3);
  if (!options.code_is_free) return torch::cat({by_pose, by_scale}, 3);
  const torch::Tensor scale = torch::exp(state.log_scale).view({-1, 1, 1, 1});
  return torch::cat({by_pose, by_scale, torch::matmul(by_depth * scale, bases.unsqueeze(2))}, 3);
}

// Σ_n Jᵀ W J and Σ_n Jᵀ W r for J (B, N, R, U), with the rows' weights (B, N, R) already chosen.
AlignmentSystem SumRows(const torch::Tensor& J, const torch::Tensor& residual,
                        const torch::Tensor& row_weight) {
  const torch::Tensor rows = J.flatten(1, 2);
  const torch::Tensor weighted = rows * row_weight.flatten(1, 2).unsqueeze(2);
  AlignmentSystem system;
  system.H = torch::bmm(weighted.transpose(1, 2), rows);
  system.b = torch::bmm(weighted.transpose(1, 2), residual.flatten(1, 2).unsqueeze(2)).squeeze(2);
  return system;
}

void Add(AlignmentSystem& sum, const AlignmentSystem& part) {
  if (part.H.defined()) {
    sum.H = sum.H.defined() ? sum.H + part.H : part.H;
    sum.b = sum.b.defined() ? sum.b + part.b : part.b;
  }
  sum.error = sum.error.defined() ? sum.error + part.error : part.error;
}

// The mean error of a factor, or its fixed worst where nothing is seen.
torch::Tensor MeanOr(const torch::Tensor& sum, const torch::Tensor& count, double worst) {
  return torch::where(count.gt(0), sum / count.clamp_min(1), torch::full_like(sum, worst));
}

// Of the source's finest features over the samples, summed over channels: (B).
torch::Tensor FeatureVariance(const AlignmentProblem& problem) {
  const torch::Tensor weight = problem.weight.unsqueeze(2);
  const torch::Tensor count = weight.sum(1).clamp_min(1);
  const torch::Tensor mean = (problem.source_features[0] * weight).sum(1) / count;
  const torch::Tensor square = (problem.source_features[0].square() * weight).sum(1) / count;
  return (square - mean.square()).sum(1);
}

// FM: the channels of all levels contract to a 2×2 matrix and a 2-vector in the image plane.
AlignmentSystem FeatureMetric(const AlignmentProblem& problem, const AlignmentState& state,
                              const WarpedPoints& points, const Landing& landing,
                              const AlignmentOptions& options, bool with_derivatives) {
  torch::Tensor gxx, gxy, gyy, gx, gy, squared;
  double weights = 0;
  const auto add = [](torch::Tensor& sum, const torch::Tensor& term) {
    sum = sum.defined() ? sum + term : term;
  };
  for (size_t level = 0; level < options.level_weights.size(); ++level) {
    const double weight = options.level_weights[level];
    const double size = static_cast<double>(1 << level);
    weights += weight;
    const torch::Tensor sampled =
        SampleMaps(problem.target_features[level], AtLevel(landing.uv, static_cast<int>(level)));
    const auto channels = sampled.size(2) / 3;
    const torch::Tensor residual = sampled.slice(2, 0, channels) - problem.source_features[level];
    add(squared, weight * residual.square().sum(2));
    if (!with_derivatives) continue;
    const torch::Tensor dx = sampled.slice(2, channels, 2 * channels) / size;
    const torch::Tensor dy = sampled.slice(2, 2 * channels) / size;
    add(gxx, weight * Dot(dx, dx));
    add(gxy, weight * Dot(dx, dy));
    add(gyy, weight * Dot(dy, dy));
    add(gx, weight * Dot(dx, residual));
    add(gy, weight * Dot(dy, residual));
  }
  AlignmentSystem system;
  const torch::Tensor count = landing.valid.sum(1);
  const torch::Tensor variance = FeatureVariance(problem).unsqueeze(1);
  const torch::Tensor unit = options.relative ? 1 / variance.clamp_min(1e-12) : torch::ones_like(variance);
  squared = squared * unit;
  torch::Tensor error = squared;
  torch::Tensor row_weight = unit;
  if (options.robust > 0) {  // Cauchy
    const torch::Tensor threshold = options.robust * weights * variance * unit;
    error = threshold * torch::log1p(squared / threshold);
    row_weight = unit / (1 + squared / threshold);
  }
  const torch::Tensor worst = 0.5 * weights * kNoOverlapSquared * unit.squeeze(1);
  const torch::Tensor sum = 0.5 * (landing.valid * error).sum(1);
  system.error = torch::where(count.gt(0), sum / count.clamp_min(1), worst);
  if (!with_derivatives) return system;
  const torch::Tensor J = ExpandColumns(landing.by_x, points, problem.bases, state, options);  // (B, N, 2, U)
  const torch::Tensor A = torch::stack({torch::stack({gxx, gxy}, 2), torch::stack({gxy, gyy}, 2)}, 2);
  const torch::Tensor share = (landing.valid * row_weight / count.clamp_min(1).unsqueeze(1)).unsqueeze(2);
  const torch::Tensor AJ = torch::matmul(A * share.unsqueeze(3), J);
  system.H = torch::bmm(AJ.flatten(1, 2).transpose(1, 2), J.flatten(1, 2));
  const torch::Tensor g = (torch::stack({gx, gy}, 2) * share).flatten(1, 2).unsqueeze(2);
  system.b = torch::bmm(J.flatten(1, 2).transpose(1, 2), g).squeeze(2);
  return system;
}

AlignmentSystem GeometricConsistency(const AlignmentProblem& problem, const AlignmentState& state,
                                     const WarpedPoints& points, const Landing& landing,
                                     const AlignmentOptions& options, bool with_derivatives) {
  const torch::Tensor scale = torch::exp(state.log_scale).unsqueeze(1);
  const torch::Tensor sampled = SampleMaps(problem.target_depth, landing.uv);
  const torch::Tensor known = SampleMaps(problem.target_known, landing.uv.detach()).squeeze(2).gt(0.999);
  const torch::Tensor valid = landing.valid * known.to(landing.valid.dtype());
  const torch::Tensor count = valid.sum(1);
  const torch::Tensor residual = (DepthOfPoints(problem.camera, points.x) - sampled.select(2, 0)) / scale;
  const torch::Tensor delta = (options.geometry_sigma * problem.mean_square).unsqueeze(1);
  AlignmentSystem system;
  system.error =
      options.geometry_weight * MeanOr((valid * 0.5 * torch::log1p(residual.square() / delta)).sum(1), count,
                                       0.5 * std::log1p(kNoOverlapRatio));
  if (!with_derivatives) return system;
  const torch::Tensor gradient = sampled.slice(2, 1, 3).unsqueeze(2);  // (B, N, 1, 2)
  const torch::Tensor own = DepthByPoints(problem.camera, points.x).unsqueeze(2);
  const torch::Tensor by_x = (own - torch::matmul(gradient, landing.by_x)) / scale.unsqueeze(2).unsqueeze(3);
  torch::Tensor J = ExpandColumns(by_x, points, problem.bases, state, options);
  // The residual is measured in the source's scale.
  J = torch::cat({J.slice(3, 0, 6), J.slice(3, 6, 7) - residual.unsqueeze(2).unsqueeze(3), J.slice(3, 7)}, 3);
  const torch::Tensor weight =
      options.geometry_weight * valid / count.clamp_min(1).unsqueeze(1) / (delta + residual.square());
  const AlignmentSystem rows = SumRows(J, residual.unsqueeze(2), weight.unsqueeze(2));
  system.H = rows.H;
  system.b = rows.b;
  return system;
}

// Fair's loss of residuals (B, M, R) with their columns (B, M, R, U), over the matches that are seen.
AlignmentSystem SumMatches(const torch::Tensor& residual, const torch::Tensor& J, const torch::Tensor& delta,
                           const torch::Tensor& positive, const torch::Tensor& match_weight, double factor) {
  const torch::Tensor ratio = torch::sqrt(residual.square().sum(2) / delta + 1e-18);
  const torch::Tensor seen = positive * match_weight.gt(0).to(residual.dtype());
  const torch::Tensor count = seen.sum(1);
  const torch::Tensor weight = seen * match_weight;
  const double worst = std::sqrt(kNoOverlapRatio) - std::log1p(std::sqrt(kNoOverlapRatio));
  AlignmentSystem system;
  if (J.defined()) {
    const torch::Tensor row_weight =
        factor * weight / count.clamp_min(1).unsqueeze(1) / (delta * (1 + ratio));
    system = SumRows(J, residual, row_weight.unsqueeze(2).expand_as(residual));
  }
  system.error = factor * MeanOr((weight * (ratio - torch::log1p(ratio))).sum(1), count, worst);
  return system;
}

AlignmentSystem MatchedGeometry(const AlignmentProblem& problem, const AlignmentState& state,
                                const AlignmentOptions& options, bool with_derivatives) {
  const WarpedPoints points =
      WarpSamples(problem.camera, problem.match_rays, problem.match_average, problem.match_bases, state);
  const torch::Tensor scale = torch::exp(state.log_scale).view({-1, 1, 1});
  const torch::Tensor residual = (points.x - problem.match_points) / scale;
  const torch::Tensor delta = (options.matched_sigma * problem.mean_square).unsqueeze(1);
  torch::Tensor J;
  if (with_derivatives) {
    const torch::Tensor by_x = torch::eye(3, residual.options()).view({1, 1, 3, 3}) / scale.unsqueeze(3);
    J = ExpandColumns(by_x, points, problem.match_bases, state, options);
    // The residual is measured in the source's scale.
    J = torch::cat({J.slice(3, 0, 6), J.slice(3, 6, 7) - residual.unsqueeze(3), J.slice(3, 7)}, 3);
  }
  return SumMatches(residual, J, delta, points.positive, problem.match_weight, options.matched_weight);
}

AlignmentSystem Reprojection(const AlignmentProblem& problem, const AlignmentState& state,
                             const AlignmentOptions& options, bool with_derivatives) {
  const WarpedPoints points =
      WarpSamples(problem.camera, problem.match_rays, problem.match_average, problem.match_bases, state);
  const Landing landing = Project(problem, points);
  const torch::Tensor residual = landing.uv - problem.match_pixels;
  const auto width = static_cast<double>(problem.target_mask.size(3));
  const torch::Tensor delta =
      torch::full_like(problem.mean_square, options.reprojection_sigma * width * width);
  const torch::Tensor J = with_derivatives
                              ? ExpandColumns(landing.by_x, points, problem.match_bases, state, options)
                              : torch::Tensor();
  return SumMatches(residual, J, delta.unsqueeze(1), points.positive, problem.match_weight,
                    options.reprojection_weight);
}

// How large the bases are beside the average depth, squared: (B). What a code of one adds, as a share.
torch::Tensor BasisShare(const AlignmentProblem& problem) {
  const torch::Tensor square = (problem.bases.square().mean(2) * problem.weight).sum(1);
  return square / problem.weight.sum(1).clamp_min(1) / problem.mean_square;
}

// SC and CD.
AlignmentSystem Priors(const AlignmentProblem& problem, const AlignmentState& state,
                       const AlignmentOptions& options) {
  const torch::Tensor off = state.log_scale - problem.scale_goal;
  const torch::Tensor scale_weight = torch::full_like(off, options.scale_prior_weight).unsqueeze(1);
  torch::Tensor code_weight =
      torch::full_like(scale_weight, options.code_prior_weight / static_cast<double>(state.code.size(1)));
  if (options.relative_code) code_weight = code_weight * BasisShare(problem).unsqueeze(1);
  const torch::Tensor none = torch::zeros({state.code.size(0), 6}, state.code.options());
  AlignmentSystem system;
  system.error =
      0.5 * options.scale_prior_weight * off.square() + 0.5 * (code_weight * state.code.square()).sum(1);
  std::vector<torch::Tensor> gradient = {none, scale_weight * off.unsqueeze(1)};
  std::vector<torch::Tensor> curvature = {none, scale_weight};
  if (options.code_is_free) {
    gradient.push_back(code_weight * state.code);
    curvature.push_back(code_weight.expand_as(state.code));
  }
  system.b = torch::cat(gradient, 1);
  system.H = torch::diag_embed(torch::cat(curvature, 1));
  return system;
}

AlignmentSystem Evaluate(const AlignmentProblem& problem, const AlignmentState& state,
                         const AlignmentOptions& options, bool with_derivatives) {
  const WarpedPoints points =
      WarpSamples(problem.camera, problem.rays, problem.average, problem.bases, state);
  const Landing landing = LandSamples(problem, points);
  AlignmentSystem sum;
  Add(sum, FeatureMetric(problem, state, points, landing, options, with_derivatives));
  if (options.geometry_weight > 0)
    Add(sum, GeometricConsistency(problem, state, points, landing, options, with_derivatives));
  if (options.matched_weight > 0) Add(sum, MatchedGeometry(problem, state, options, with_derivatives));
  if (options.reprojection_weight > 0) Add(sum, Reprojection(problem, state, options, with_derivatives));
  AlignmentSystem priors = Priors(problem, state, options);
  if (!with_derivatives) priors.H = torch::Tensor();
  Add(sum, priors);
  return sum;
}

}  // namespace

AlignmentSystem LinearizeAlignment(const AlignmentProblem& problem, const AlignmentState& state,
                                   const AlignmentOptions& options) {
  return Evaluate(problem, state, options, true);
}

torch::Tensor ComputeAlignmentError(const AlignmentProblem& problem, const AlignmentState& state,
                                    const AlignmentOptions& options) {
  return Evaluate(problem, state, options, false).error;
}

torch::Tensor WithGradients(const torch::Tensor& maps, const torch::Tensor& mask) {
  const auto derivative = [&](int64_t dim) {
    const auto size = maps.size(dim);
    const auto shifted = [&](const torch::Tensor& x, bool forward) {
      const torch::Tensor first = x.slice(dim, 0, 1);
      const torch::Tensor last = x.slice(dim, size - 1, size);
      return forward ? torch::cat({x.slice(dim, 1, size), last}, dim)
                     : torch::cat({first, x.slice(dim, 0, size - 1)}, dim);
    };
    torch::Tensor after, before;
    {
      torch::NoGradGuard no_grad;
      const torch::Tensor index = torch::arange(size, maps.options());
      std::vector<int64_t> shape = {1, 1, 1, 1};
      shape[static_cast<size_t>(dim)] = size;
      after = shifted(mask, true).gt(0.5) * index.lt(static_cast<double>(size) - 1.5).view(shape);
      before = shifted(mask, false).gt(0.5) * index.gt(0.5).view(shape);
    }
    const torch::Tensor scale =
        torch::where(after * before, 0.5 * torch::ones_like(mask), torch::ones_like(mask));
    return scale * (torch::where(after, shifted(maps, true), maps) -
                    torch::where(before, shifted(maps, false), maps));
  };
  return torch::cat({maps, derivative(3), derivative(2)}, 1);
}

std::vector<torch::Tensor> MakeFeatureLevels(const torch::Tensor& maps, const torch::Tensor& mask,
                                             int levels) {
  const torch::Tensor taps = torch::tensor({1.0, 3.0, 3.0, 1.0}, maps.options()) / 8.0;
  const torch::Tensor kernel = (taps.view({4, 1}) * taps.view({1, 4})).view({1, 1, 4, 4});
  const auto halve = [&](const torch::Tensor& x) {
    return torch::conv2d(x.flatten(0, 1).unsqueeze(1), kernel, {}, 2, 1)
        .view({x.size(0), x.size(1), x.size(2) / 2, x.size(3) / 2});
  };
  std::vector<torch::Tensor> result;
  torch::Tensor level = maps;
  torch::Tensor level_mask = mask;
  for (int l = 0; l < levels; ++l) {
    if (l > 0) {
      const torch::Tensor total = halve(level_mask);
      level = halve(level * level_mask) / total.clamp_min(1e-6);
      level_mask = torch::max_pool2d(level_mask, 2);
    }
    result.push_back(WithGradients(level, level_mask));
  }
  return result;
}

}  // namespace lumen
