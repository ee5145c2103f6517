#include "lumen/factors/occlusion.h"

#include <cmath>

#include "lumen/factors/warp.h"

namespace lumen {

HiddenSamples FindHidden(const KeyframeSamples& source, const KeyframeState& source_state, const View& target,
                         const Rigid3& world_from_target, const DepthImage& seen, double margin) {
  const Rigid3 target_from_source = world_from_target.Inverse() * source_state.world_from_camera;
  const double scale = std::exp(source_state.log_scale);
  HiddenSamples hidden(static_cast<size_t>(source.Size()), false);
  for (int sample = 0; sample < source.Size(); ++sample) {
    const auto point = WarpPoint(
        target_from_source, source.Ray(sample),
        DepthOf(source.AverageDepth(sample), source.Bases(sample), scale, source_state.code), target.camera);
    if (!point) continue;
    const auto uv = target.camera.Project(point->x_in_target);
    if (!uv || !IsContent(target.mask, *uv)) continue;
    const double wall = seen(static_cast<int>(std::lround(uv->x())), static_cast<int>(std::lround(uv->y())));
    hidden[static_cast<size_t>(sample)] =
        wall > 0 && target.camera.Depth(point->x_in_target) > (1 + margin) * wall;
  }
  return hidden;
}

}  // namespace lumen
