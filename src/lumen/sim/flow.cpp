#include "lumen/sim/flow.h"

#include <cmath>

namespace lumen {

namespace {

// Whether nothing stands between the eye and a point of the wall.
bool SeesPoint(const Renderer& renderer, const Eigen::Vector3d& eye, const Eigen::Vector3d& point) {
  const Eigen::Vector3f to_point = (point - eye).cast<float>();
  const float distance = to_point.norm();
  if (distance < 1e-6F) return true;
  // The point lies on the wall itself: a ray that grazes it may touch down a little before.
  const float tolerance = renderer.Scene().Field().Voxel() + 0.005F * distance;
  return renderer.TraceDistance({eye.cast<float>(), to_point / distance}) > distance - tolerance;
}

bool InContent(const Mask& mask, const Eigen::Vector2d& uv) {
  const auto x = static_cast<int>(std::lround(uv.x()));
  const auto y = static_cast<int>(std::lround(uv.y()));
  return mask.Contains(x, y) && mask(x, y) != 0;
}

}  // namespace

FlowField ComputeFlow(const Renderer& renderer, const DepthImage& first_depth, const Rigid3& world_from_first,
                      const Rigid3& world_from_second) {
  const Camera& camera = renderer.View();
  const Mask& mask = renderer.ContentMask();
  LUMEN_CHECK(SameSize(first_depth, mask), "depth is not of the renderer's size");
  const Rigid3 second_from_world = world_from_second.Inverse();
  FlowField field = {Image<float>(mask.Width(), mask.Height(), 2), Image<float>(mask.Width(), mask.Height()),
                     Mask(mask.Width(), mask.Height()), 0.0};
  int64_t content = 0;
  int64_t seen = 0;
  for (int y = 0; y < mask.Height(); ++y) {
    for (int x = 0; x < mask.Width(); ++x) {
      if (mask(x, y) == 0 || first_depth(x, y) <= 0) continue;
      ++content;
      const Eigen::Vector3d ray = *camera.Unproject({x, y});
      const Eigen::Vector3d point = world_from_first * (ray * (first_depth(x, y) / ray.z()));
      const Eigen::Vector3d in_second = second_from_world * point;
      const auto uv = camera.Project(in_second);
      if (!uv || !InContent(mask, *uv) || !SeesPoint(renderer, world_from_second.Translation(), point))
        continue;
      ++seen;
      field.visible(x, y) = 255;
      field.flow(x, y, 0) = static_cast<float>(uv->x() - x);
      field.flow(x, y, 1) = static_cast<float>(uv->y() - y);
      field.depth(x, y) = static_cast<float>(in_second.z());
    }
  }
  if (content > 0) field.overlap = static_cast<double>(seen) / static_cast<double>(content);
  return field;
}

}  // namespace lumen
