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
    const auto i = static_cast<size_t>(sample);
    const auto point =
        WarpPoint(target_from_source, {source.ray_x[i], source.ray_y[i], 1.0},
                  DepthOf(source.AverageDepth(sample), source.Bases(sample), scale, source_state.code));
    if (!point) continue;
    const auto uv = target.camera.Project(point->x_in_target);
    if (!uv || !IsContent(target.mask, *uv)) continue;
    const double wall = seen(static_cast<int>(std::lround(uv->x())), static_cast<int>(std::lround(uv->y())));
    hidden[i] = wall > 0 && point->x_in_target.z() > (1 + margin) * wall;
  }
  return hidden;
}

}  // namespace lumen
