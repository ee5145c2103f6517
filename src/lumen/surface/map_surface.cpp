#include "lumen/surface/map_surface.h"

namespace lumen {

namespace {

DepthImage ViewDepthOf(const MapKeyframe& keyframe) {
  DepthImage depth = ComputeDepth(keyframe.keyframe->depth, keyframe.state.log_scale, keyframe.state.code);
  const Mask& mask = keyframe.keyframe->frame->view->mask;
  for (size_t i = 0; i < depth.Size(); ++i)
    if (mask.Data()[i] == 0) depth.Data()[i] = 0;
  return depth;
}

DepthView ViewOf(const MapKeyframe& keyframe) {
  const Frame& frame = *keyframe.keyframe->frame;
  const RgbImage& fine = keyframe.keyframe->fine;
  return {frame.view->camera, keyframe.state.world_from_camera, ViewDepthOf(keyframe),
          fine.Empty() ? frame.image : fine};
}

}  // namespace

DepthImage KeyframeDepth(const MapKeyframe& keyframe) {
  return ZOfViewDepth(ViewDepthOf(keyframe), keyframe.keyframe->frame->view->camera);
}

ViewList ListMapViews(std::shared_ptr<const MapSnapshot> map, int submap) {
  auto keyframes = std::make_shared<std::vector<const MapKeyframe*>>();
  for (const auto& [id, keyframe] : map->keyframes)
    if (keyframe.submap == submap) keyframes->push_back(&keyframe);
  const auto count = static_cast<int>(keyframes->size());
  return {count,
          [map = std::move(map), keyframes](int i) { return ViewOf(*(*keyframes)[static_cast<size_t>(i)]); }};
}

FusionResult FuseMap(std::shared_ptr<const MapSnapshot> map, int submap, const GatherOptions& gather,
                     const FusionOptions& fusion, int threads) {
  const ViewList views = ListMapViews(std::move(map), submap);
  if (views.count == 0 || gather.views == 0) return FuseViews(views, fusion, threads);
  return FuseViews(GatherViews(views, gather, threads), fusion, threads);
}

}  // namespace lumen
