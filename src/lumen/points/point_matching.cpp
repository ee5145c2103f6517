#include "lumen/points/point_matching.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "lumen/image/grey.h"
#include "lumen/image/sample.h"

namespace lumen {

namespace {

// The depth at a fine pixel.
std::optional<double> DepthAt(const DepthImage& depth, const Eigen::Vector2d& fine, int times) {
  const Eigen::Vector2d pixel = (fine.array() + 0.5) / times - 0.5;
  float value = 0;
  const double u = std::clamp(pixel.x(), 0.0, depth.Width() - 1.0);
  const double v = std::clamp(pixel.y(), 0.0, depth.Height() - 1.0);
  if (!SampleBilinear(depth.View(), u, v, &value) || !(value > 0)) return std::nullopt;
  return value;
}

std::optional<Eigen::Vector3d> Warp(const PointSide& source, const Eigen::Vector2d& fine,
                                    const Rigid3& target_from_source) {
  const auto depth = DepthAt(*source.depth, fine, source.points->times);
  if (!depth) return std::nullopt;
  return target_from_source * (*depth * source.points->camera.RayAtUnitDepth(fine.x(), fine.y()));
}

std::optional<PatchGuess> Foresee(const PointSide& source, const PointSide& target,
                                  const Eigen::Vector2d& fine, const Rigid3& target_from_source,
                                  double hidden_margin) {
  constexpr double kStep = 4;  // fine pixels
  const UnifiedCamera& camera = target.points->camera;
  const auto project = [&](const Eigen::Vector2d& from) -> std::optional<Eigen::Vector2d> {
    const auto point = Warp(source, from, target_from_source);
    return point && camera.IsBefore(*point, 1e-6) ? camera.Project(*point) : std::nullopt;
  };
  const auto point = Warp(source, fine, target_from_source);
  const auto centre = point && camera.IsBefore(*point, 1e-6) ? camera.Project(*point) : std::nullopt;
  if (!centre) return std::nullopt;
  const double u = centre->x(), v = centre->y();
  const Image<uint8_t>& picture = target.points->picture.levels[0];
  if (!(u >= 0 && v >= 0 && u <= picture.Width() - 1 && v <= picture.Height() - 1)) return std::nullopt;
  const auto seen = DepthAt(*target.depth, *centre, target.points->times);
  if (!seen || camera.Depth(*point) > (1 + hidden_margin) * *seen) return std::nullopt;
  PatchGuess guess{*centre};
  for (int axis = 0; axis < 2; ++axis) {
    const Eigen::Vector2d step = kStep * Eigen::Vector2d::Unit(axis);
    const auto after = project(fine + step), before = project(fine - step);
    if (!after || !before) return std::nullopt;
    guess.affine.col(axis) = (*after - *before) / (2 * kStep);
  }
  return guess;
}

}  // namespace

void PointOptions::Describe(ConfigVisitor& visitor) {
  visitor.Group("corners", corners);
  visitor.Group("patch", patch);
  visitor.Field("edge", edge,
                {.min = 0, .help = "bend of the inverse depth that is taken for a fold's edge"});
  visitor.Field("most_return", most_return,
                {.min = 0, .unit = "px", .help = "how far off a sighting may lead back"});
  visitor.Field("most_shift", most_shift,
                {.min = 0, .unit = "px", .help = "how far from its foreseen place a point may be found"});
  visitor.Field("hidden_margin", hidden_margin, {.min = 0, .help = "share of the depth that hides a point"});
}

namespace {

// Content where the surface goes on: edges of folds hide what is behind them, and slide.
Mask WithoutEdges(const Mask& content, const DepthImage& depth, double most) {
  Mask edges(content.Width(), content.Height());
  const auto bend = [&](int x, int y, int dx, int dy) {
    const double here = 1 / depth(x, y);
    return std::abs(1 / depth(x - dx, y - dy) + 1 / depth(x + dx, y + dy) - 2 * here) / here;
  };
  for (int y = 1; y < edges.Height() - 1; ++y) {
    for (int x = 1; x < edges.Width() - 1; ++x) {
      if (bend(x, y, 1, 0) > most || bend(x, y, 0, 1) > most) edges(x, y) = 255;
    }
  }
  Mask clear = content;
  for (int y = 1; y < edges.Height() - 1; ++y) {
    for (int x = 1; x < edges.Width() - 1; ++x) {
      if (edges(x, y) == 0) continue;
      for (int j = -1; j <= 1; ++j) {
        for (int i = -1; i <= 1; ++i) clear(x + i, y + j) = 0;
      }
    }
  }
  return clear;
}

}  // namespace

PointSet FindPoints(const Keyframe& keyframe, const PointOptions& options) {
  const Frame& frame = *keyframe.frame;
  PointSet set;
  set.view = frame.view;
  if (keyframe.fine.Empty()) return set;
  set.times = keyframe.fine.Width() / frame.view->mask.Width();
  set.camera = frame.view->camera.Scaled(set.times, set.times);
  set.picture = MakeFinePicture(ToGrey(keyframe.fine));
  set.points =
      FindCorners(set.picture, WithoutEdges(frame.view->eroded_mask, keyframe.depth.average, options.edge),
                  options.corners);
  set.picture.grey = {};
  return set;
}

namespace {

// Whether the sighting, looked for in the source, is found where the point is.
bool LeadsBack(const PointSide& source, const PointSide& target, const Eigen::Vector2d& point,
               const PatchGuess& guess, const PatchFit& fit, const PointOptions& options) {
  const auto shift = ShiftOfPatch(target.points->picture, fit.centre, source.points->picture,
                                  {point, guess.affine.inverse()});
  return shift && *shift <= options.most_return;
}

}  // namespace

std::vector<Sighting> SeePoints(const PointSide& source, const PointSide& target,
                                const Rigid3& target_from_source, const PointOptions& options) {
  std::vector<Sighting> sightings;
  if (source.points->times == 0 || target.points->times == 0) return sightings;
  // The map foresees a point within a pixel or two of the view: no need to begin on coarser levels.
  PatchOptions patch = options.patch;
  patch.coarse_levels = std::min(patch.coarse_levels, target.points->times <= 4 ? 2 : 3);
  const Mask& content = target.points->view->mask;
  for (size_t i = 0; i < source.points->points.size(); ++i) {
    const Eigen::Vector2d fine = source.points->points[i].cast<double>();
    const auto guess = Foresee(source, target, fine, target_from_source, options.hidden_margin);
    if (!guess) continue;
    const auto fit = AlignPatch(source.points->picture, fine, target.points->picture, *guess, patch);
    if (!fit || (fit->centre - guess->centre).norm() > options.most_shift) continue;
    if (options.most_return > 0 && !LeadsBack(source, target, fine, *guess, *fit, options)) continue;
    const Eigen::Vector2i pixel = (fit->centre / target.points->times).cast<int>();
    if (!content.Contains(pixel.x(), pixel.y()) || content(pixel.x(), pixel.y()) == 0) continue;
    sightings.push_back({static_cast<int>(i), fit->centre, fit->covariance});
  }
  return sightings;
}

}  // namespace lumen
