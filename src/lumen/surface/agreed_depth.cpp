#include "lumen/surface/agreed_depth.h"

#include <algorithm>
#include <cmath>

#include "lumen/surface/seen_depth.h"
#include "lumen/surface/weighted_middle.h"

namespace lumen {

DepthImage AgreeOnDepth(const UnifiedCamera& camera, int width, int height, const Rigid3& world_from_camera,
                        const std::vector<const DepthView*>& maps, const AgreementOptions& options) {
  const DepthView view{camera, world_from_camera, DepthImage(width, height), {}};
  std::vector<SeenDepth> seen;
  for (const DepthView* map : maps) seen.push_back(SeeFrom(view, *map, options.edge));
  DepthImage agreed(width, height);
  std::vector<Said> said;
  for (size_t i = 0; i < agreed.Size(); ++i) {
    said.clear();
    for (const SeenDepth& one : seen) {
      if (one.depth.Data()[i] > 0) said.push_back({one.depth.Data()[i], 1});
    }
    if (static_cast<int>(said.size()) < options.least) continue;
    const float middle = WeightedMiddle(said);
    const auto agree = std::count_if(said.begin(), said.end(), [&](const Said& one) {
      return std::abs(one.value - middle) <= static_cast<float>(options.tolerance) * middle;
    });
    if (agree >= options.least &&
        static_cast<double>(agree) >= options.share * static_cast<double>(said.size()))
      agreed.Data()[i] = middle;
  }
  return agreed;
}

std::vector<size_t> NearestViews(const Rigid3& world_from_camera, const std::vector<DepthView>& views,
                                 double depth, size_t most) {
  std::vector<std::pair<double, size_t>> order;
  const Eigen::Vector3d axis = world_from_camera.Rotation() * Eigen::Vector3d::UnitZ();
  for (size_t i = 0; i < views.size(); ++i) {
    const Rigid3& other = views[i].world_from_camera;
    const double distance = (other.Translation() - world_from_camera.Translation()).norm() / depth;
    const double turn = (other.Rotation() * Eigen::Vector3d::UnitZ() - axis).norm();
    order.emplace_back(distance + turn, i);
  }
  std::sort(order.begin(), order.end());
  std::vector<size_t> nearest;
  for (size_t i = 0; i < std::min(most, order.size()); ++i) nearest.push_back(order[i].second);
  return nearest;
}

}  // namespace lumen
