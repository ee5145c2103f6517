#include "lumen/factors/overlap.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"
#include "lumen/image/mask.h"

namespace lumen {

namespace {

constexpr double kNearest = 1e-4;  // share of the source's depth in front of which nothing is seen

// Calls visit(pixel, depth in the target, pixel there) for each valid source pixel before the target.
template <typename Visit>
int ForEachWarped(ImageView<const float> depth, const View& source, const View& target,
                  const Rigid3& target_from_source, const Visit& visit) {
  LUMEN_CHECK(SameSize(depth, source.eroded_mask));
  const Eigen::Matrix3d rotation = target_from_source.RotationMatrix();
  int count = 0;
  for (int y = 0; y < depth.Height(); ++y) {
    for (int x = 0; x < depth.Width(); ++x) {
      if (source.eroded_mask(x, y) == 0 || !(depth(x, y) > 0)) continue;
      ++count;
      const double d = depth(x, y);
      const Eigen::Vector3d point =
          d * (rotation * source.camera.RayAtUnitDepth(x, y)) + target_from_source.Translation();
      if (!target.camera.IsBefore(point, kNearest * d)) continue;
      const double there = target.camera.Depth(point);
      const Eigen::Vector2d pixel(target.camera.fx * point.x() / there + target.camera.cx,
                                  target.camera.fy * point.y() / there + target.camera.cy);
      visit(Eigen::Vector2d(x, y), there, pixel);
    }
  }
  return count;
}

bool LandsOn(const Mask& mask, const Eigen::Vector2d& pixel) {
  if (!(pixel.x() > -0.5 && pixel.y() > -0.5 && pixel.x() < mask.Width() - 0.5 &&
        pixel.y() < mask.Height() - 0.5))
    return false;
  return mask(static_cast<int>(std::lround(pixel.x())), static_cast<int>(std::lround(pixel.y()))) != 0;
}

}  // namespace

Overlap MeasureOverlap(ImageView<const float> source_depth, const View& source, const View& target,
                       const Rigid3& target_from_source) {
  std::vector<Eigen::Vector2d> all, landed;
  double displacement = 0;
  const int count =
      ForEachWarped(source_depth, source, target, target_from_source,
                    [&](const Eigen::Vector2d& from, double /*depth*/, const Eigen::Vector2d& to) {
                      all.push_back(from);
                      displacement += (to - from).norm();
                      if (LandsOn(target.eroded_mask, to)) landed.push_back(to);
                    });
  Overlap overlap;
  if (count == 0 || all.empty()) return overlap;
  overlap.point = static_cast<double>(landed.size()) / count;
  overlap.flow = displacement / static_cast<double>(all.size()) / source.mask.Width();
  const double whole = PolygonArea(ConvexHull(std::move(all)));
  if (whole > 0) overlap.area = std::min(1.0, PolygonArea(ConvexHull(std::move(landed))) / whole);
  return overlap;
}

namespace {

// The source's depth over the target's, wherever both know one.
std::vector<double> DepthRatios(ImageView<const float> source_depth, const View& source,
                                ImageView<const float> target_depth, const View& target,
                                const Rigid3& target_from_source) {
  std::vector<double> ratios;
  ForEachWarped(source_depth, source, target, target_from_source,
                [&](const Eigen::Vector2d& /*from*/, double depth, const Eigen::Vector2d& to) {
                  if (!LandsOn(target.eroded_mask, to)) return;
                  const double other = target_depth(static_cast<int>(std::lround(to.x())),
                                                    static_cast<int>(std::lround(to.y())));
                  if (other > 0) ratios.push_back(depth / other);
                });
  return ratios;
}

// Reorders them.
double RatioAt(std::vector<double>& ratios, double share) {
  const auto at =
      ratios.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(ratios.size() - 1) + 0.5);
  std::nth_element(ratios.begin(), at, ratios.end());
  return *at;
}

}  // namespace

std::optional<double> EstimateLogScale(ImageView<const float> source_depth, const View& source,
                                       ImageView<const float> target_depth, const View& target,
                                       const Rigid3& target_from_source, int least) {
  std::vector<double> ratios = DepthRatios(source_depth, source, target_depth, target, target_from_source);
  if (static_cast<int>(ratios.size()) < least) return std::nullopt;
  return std::log(RatioAt(ratios, 0.5));
}

DepthDisagreement CompareDepths(ImageView<const float> source_depth, const View& source,
                                ImageView<const float> target_depth, const View& target,
                                const Rigid3& target_from_source, int least) {
  constexpr double kSame = 1.6;  // farther apart than this they are two walls, one behind the other
  std::vector<double> ratios = DepthRatios(source_depth, source, target_depth, target, target_from_source);
  std::erase_if(ratios, [](double ratio) { return !(ratio < kSame && ratio > 1 / kSame); });
  if (static_cast<int>(ratios.size()) < least) return {};
  const double low = RatioAt(ratios, 1.0 / 6), middle = RatioAt(ratios, 0.5), high = RatioAt(ratios, 5.0 / 6);
  return {std::log(middle), 0.5 * std::log(high / low), static_cast<int>(ratios.size())};
}

}  // namespace lumen
