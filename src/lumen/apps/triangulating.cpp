#include "lumen/apps/triangulating.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

#include "lumen/base/parallel.h"
#include "lumen/base/progress.h"
#include "lumen/network/engine_priors.h"
#include "lumen/scene/matching.h"

namespace lumen {

namespace {

// Where a point of this depth on the ray falls in the other frame, against its match: distance and how the
// place moves with the logarithm of the depth.
struct Miss {
  Eigen::Vector2d residual, slope;
};
std::optional<Miss> MissOf(const UnifiedCamera& camera, const Eigen::Vector3d& ray, const RayMatch& match,
                           double depth) {
  const Eigen::Vector3d moved = match.other_from_source.Rotation() * (depth * ray);
  const Eigen::Vector3d point = moved + match.other_from_source.Translation();
  if (!camera.IsBefore(point, 1e-9)) return std::nullopt;
  Matrix23d by_point;
  const auto pixel = camera.Project(point, &by_point);
  if (!pixel) return std::nullopt;
  return Miss{*pixel - match.pixel, by_point * moved};
}

double RobustCost(const UnifiedCamera& camera, const Eigen::Vector3d& ray,
                  const std::vector<RayMatch>& matches, double depth) {
  constexpr double kFar = 2;  // pixels: farther off is as bad as nowhere
  double cost = 0;
  for (const RayMatch& match : matches) {
    const auto miss = MissOf(camera, ray, match, depth);
    cost += miss ? std::min(1.0, miss->residual.squaredNorm() / (kFar * kFar)) : 1.0;
  }
  return cost;
}

}  // namespace

std::optional<TriangulatedDepth> TriangulateRay(const UnifiedCamera& camera, const Eigen::Vector2d& pixel,
                                                const std::vector<RayMatch>& matches, double typical,
                                                const TriangulationOptions& options) {
  if (static_cast<int>(matches.size()) < options.least_views) return std::nullopt;
  const Eigen::Vector3d ray = camera.RayAtUnitDepth(pixel.x(), pixel.y());
  // Coarsely anywhere, then downhill.
  constexpr int kCoarse = 40;
  constexpr double kNearest = 0.08, kFarthest = 12;  // of what is typical
  double best = typical, least = 1e9;
  for (int i = 0; i < kCoarse; ++i) {
    const double depth = typical * kNearest * std::pow(kFarthest / kNearest, (i + 0.5) / kCoarse);
    const double cost = RobustCost(camera, ray, matches, depth);
    if (cost < least) {
      least = cost;
      best = depth;
    }
  }
  constexpr int kSteps = 8;
  constexpr double kSoft = 0.5;  // pixels
  TriangulatedDepth result;
  for (int step = 0; step <= kSteps; ++step) {
    double h = 0, b = 0, squares = 0;
    result.views = 0;
    for (const RayMatch& match : matches) {
      const auto miss = MissOf(camera, ray, match, best);
      if (!miss) continue;
      const double off = miss->residual.squaredNorm();
      const double weight = 1 / (1 + off / (kSoft * kSoft));
      h += weight * miss->slope.squaredNorm();
      b += weight * miss->slope.dot(miss->residual);
      if (off > options.inlier * options.inlier) continue;
      ++result.views;
      squares += off;
    }
    if (!(h > 0)) return std::nullopt;
    constexpr double kMatchError = 0.35;  // pixels
    result.depth = best;
    result.error = result.views > 0 ? std::sqrt(squares / result.views) : 0;
    result.uncertainty = kMatchError / std::sqrt(h);
    if (step < kSteps) best *= std::exp(std::clamp(-b / h, -0.3, 0.3));
  }
  const bool agreed = result.views >= options.least_views &&
                      result.views >= options.least_share * static_cast<double>(matches.size());
  if (!agreed || result.uncertainty > options.most_uncertain) return std::nullopt;
  return result;
}

namespace {

struct DescribedFrame {
  int64_t number = 0;
  Rigid3 world_from_camera;
  Image<float> descriptors;
  std::shared_ptr<const DescriptorIndex> index;
};

// Others that look the same way from places apart, as evenly spread over the distances as can be.
std::vector<const DescribedFrame*> ChoosePartners(const DescribedFrame& source,
                                                  const std::deque<DescribedFrame>& window, double depth,
                                                  int most) {
  constexpr double kLeast = 0.03, kMost = 0.5;  // of the depth
  constexpr double kTurn = 0.7;                 // radians
  std::vector<std::pair<double, const DescribedFrame*>> apart;
  for (const DescribedFrame& other : window) {
    const Rigid3 motion = other.world_from_camera.Inverse() * source.world_from_camera;
    const double baseline = motion.Translation().norm() / depth;
    if (baseline >= kLeast && baseline <= kMost && Eigen::AngleAxisd(motion.Rotation()).angle() < kTurn)
      apart.emplace_back(baseline, &other);
  }
  std::sort(apart.begin(), apart.end());
  std::vector<const DescribedFrame*> chosen;
  const size_t wanted = std::min(static_cast<size_t>(most), apart.size());
  for (size_t k = 0; k < wanted; ++k)
    chosen.push_back(apart[apart.size() * (2 * k + 1) / (2 * wanted)].second);
  return chosen;
}

std::vector<SparsePoint> TriangulateFrame(const DescribedFrame& source,
                                          const std::deque<DescribedFrame>& window, const View& view,
                                          double depth, const TriangulationOptions& options) {
  const std::vector<const DescribedFrame*> partners = ChoosePartners(source, window, depth, options.partners);
  const auto keypoints =
      SampleKeypoints(view.eroded_mask, options.keypoints, static_cast<uint64_t>(source.number));
  std::vector<MatchSet> found(partners.size());
  MatchOptions matching;
  matching.cycle_distance = 1;
  matching.subpixel = true;
  ParallelFor(static_cast<int64_t>(partners.size()), AvailableCores(), [&](int64_t i) {
    const DescribedFrame& other = *partners[static_cast<size_t>(i)];
    found[static_cast<size_t>(i)] = MatchDescriptors({source.descriptors, source.index.get()}, keypoints,
                                                     {other.descriptors, other.index.get()}, matching);
  });
  std::map<std::pair<int, int>, std::vector<RayMatch>> rays;
  for (size_t i = 0; i < partners.size(); ++i) {
    const Rigid3 motion = partners[i]->world_from_camera.Inverse() * source.world_from_camera;
    for (const Match& match : found[i].matches)
      rays[{match.source.y(), match.source.x()}].push_back({motion, match.target});
  }
  std::vector<SparsePoint> points;
  for (const auto& [at, matches] : rays) {
    const Eigen::Vector2d pixel(at.second, at.first);
    const auto point = TriangulateRay(view.camera, pixel, matches, depth, options);
    if (!point) continue;
    const double z = point->depth * view.camera.RayAtUnitDepth(pixel.x(), pixel.y()).z();
    // The frames are twice as large as the maps.
    if (z > 0)
      points.push_back({2 * pixel + Eigen::Vector2d(0.5, 0.5), z, point->views + 1, 2 * point->error});
  }
  return points;
}

}  // namespace

SparseDepth TriangulatePoints(const Model& model, const Camera& camera, const Mask& mask,
                              const PlacedFrames& frames, double depth, const TriangulationOptions& options) {
  const auto view = MakeView(camera, mask);
  PriorsOptions engine;
  engine.threads = AvailableCores();
  EnginePriors priors(model, LensView(camera, mask), engine);
  SparseDepth points;
  std::deque<DescribedFrame> window;
  int64_t next = 0;
  ProgressBar progress("points", frames.count);
  for (int64_t i = 0; i < frames.count; ++i) {
    for (; next < std::min(frames.count, i + options.window + 1); ++next) {
      const Rigid3* place = frames.place(next);
      if (place == nullptr) continue;
      DescribedFrame seen{next, *place, priors.ComputeFeatures({next, 0, frames.image(next)}).descriptors,
                          nullptr};
      seen.index = std::make_shared<const DescriptorIndex>(seen.descriptors, view->mask);
      window.push_back(std::move(seen));
    }
    while (!window.empty() && window.front().number < i - options.window) window.pop_front();
    for (const DescribedFrame& source : window) {
      if (source.number != i) continue;
      auto made = TriangulateFrame(source, window, *view, depth, options);
      if (!made.empty()) points[i] = std::move(made);
    }
    progress.Update(i + 1);
  }
  progress.Finish();
  return points;
}

}  // namespace lumen
