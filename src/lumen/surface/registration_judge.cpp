#include "lumen/surface/registration_judge.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "lumen/base/parallel.h"
#include "lumen/base/text.h"
#include "lumen/surface/similarity_icp.h"

namespace lumen {

Residuals MeasureResiduals(const SurfacePoints& surface, const TriangleTree& model,
                           const DriftingSimilarity& model_from_surface, double match_distance) {
  Residuals result;
  std::vector<double> matched;
  constexpr double kLeastCosine = 0.5;
  double share = 0, whole = 0;
  for (size_t i = 0; i < surface.Size(); ++i) {
    whole += surface.weights[i];
    const auto [point, normal] = PlacePoint(model_from_surface, surface, i);
    const auto hit = model.FindNearest(point, match_distance);
    if (!hit || hit->normal.dot(normal) <= kLeastCosine) continue;
    matched.push_back(std::sqrt(hit->cost));
    share += surface.weights[i];
  }
  result.matched_share = share / std::max(whole, 1e-12);
  if (matched.empty()) return result;
  std::sort(matched.begin(), matched.end());
  for (const double residual : matched) result.mean += residual / static_cast<double>(matched.size());
  result.median = matched[matched.size() / 2];
  result.p95 = matched[matched.size() * 95 / 100];
  return result;
}

double MeanDistance(const SurfacePoints& surface, const TriangleTree& model, const Sim3& model_from_surface) {
  double sum = 0;
  for (size_t i = 0; i < surface.Size(); ++i) {
    const auto hit =
        model.FindNearest(model_from_surface * surface.points[i], std::numeric_limits<float>::max());
    if (hit) sum += std::sqrt(hit->cost);
  }
  return surface.Size() > 0 ? sum / static_cast<double>(surface.Size()) : 0;
}

double MeasureMisfit(const SurfacePoints& measured, const TriangleTree& model,
                     const DriftingSimilarity& model_from_surface) {
  std::vector<double> misfits;
  for (size_t i = 0; i < measured.Size(); ++i) {
    const Sim3 there = model_from_surface.At(measured.seen_from[i]);
    const auto hit = model.FindNearest(there * measured.points[i], std::numeric_limits<float>::max());
    if (hit) misfits.push_back(std::sqrt(hit->cost) * measured.weights[i] / there.Scale());
  }
  if (misfits.empty()) return 0;
  const auto at = misfits.begin() + static_cast<std::ptrdiff_t>(misfits.size() * 68 / 100);
  std::nth_element(misfits.begin(), at, misfits.end());
  return *at;
}

constexpr double kMostMisfit = 0.6;

bool Misfits(const SurfaceRegistration& result) { return result.misfit.value_or(0) > kMostMisfit; }

std::vector<double> ComputeResiduals(const TriangleMesh& placed, const TriangleTree& model, int threads) {
  std::vector<double> residuals(placed.vertices.size());
  ParallelChunks(static_cast<int64_t>(residuals.size()), 256, threads, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const auto hit =
          model.FindNearest(placed.vertices[i].cast<double>(), std::numeric_limits<float>::max());
      residuals[i] = hit ? std::sqrt(hit->cost) : std::numeric_limits<double>::infinity();
    }
  });
  return residuals;
}

bool IsMatched(const SurfaceRegistrationOptions& options, double similar_share,
               const SurfaceRegistration& result) {
  // With its drift taken out more of a surface lies on the model, but also where it does not belong.
  return std::min(similar_share, result.matched_share) >= options.least_matched;
}

void Judge(const SurfaceRegistrationOptions& options, bool guessed, double match_distance,
           double similar_share, SurfaceRegistration& result) {
  const bool matched = IsMatched(options, similar_share, result);
  constexpr double kExact = 0.2;
  const bool free =
      !result.constraints.empty() && result.constraints.front().visibility < options.least_visible;
  const bool chosen =
      !result.ambiguous || (guessed && (free || result.residual_mean < kExact * match_distance));
  // An organ that has changed since its CT misfits too: whoever says where it lies may have it there.
  const bool likely = guessed || result.misfit.value_or(0) <= 2 * kMostMisfit;
  result.status = matched && chosen && likely ? SurfaceRegistrationStatus::kRegistered
                                              : SurfaceRegistrationStatus::kNotRegistered;
  if (!matched)
    result.doubts.push_back(StrCat("only ", std::lround(100 * std::min(similar_share, result.matched_share)),
                                   " % of the surface lies on the model"));
  if (result.ambiguous) result.doubts.emplace_back("another place fits nearly as well");
  // On right models 1.3 at least where points were measured.
  constexpr double kClearlyBest = 1.15;
  if (result.neighbour > 0 && result.neighbour < kClearlyBest)
    result.doubts.emplace_back("a little farther along it fits nearly as well");
  // Points that lie anywhere within reach are half of it off on average: a surface that is bent, or
  // elsewhere.
  constexpr double kRough = 1.0 / 3;
  if (matched && result.residual_mean > kRough * match_distance)
    result.doubts.emplace_back("the surface follows the model only roughly");
  if (Misfits(result))
    result.doubts.emplace_back("the points it measured lie farther from the model than they should");
  if (result.discord.value_or(0) > match_distance) {
    char text[96];
    std::snprintf(text, sizeof(text), "its better and its worse seen halves would lie %.1f mm apart",
                  *result.discord);
    result.doubts.emplace_back(text);
  }
  // Neither says enough alone, both together do: on right models they come to 0.9 at most.
  constexpr double kMostTogether = 1.35;
  if (result.misfit && result.discord && result.doubts.empty() &&
      *result.misfit / kMostMisfit + *result.discord / match_distance > kMostTogether)
    result.doubts.emplace_back("both the points it measured and its halves fit less well than they should");
  for (const Constraint& constraint : result.constraints)
    if (constraint.visibility < options.least_visible)
      result.doubts.push_back(constraint.Words() + " is hardly constrained by the shape");
  result.confident = result.doubts.empty();
}

}  // namespace lumen
