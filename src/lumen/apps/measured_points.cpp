#include "lumen/apps/measured_points.h"

#include <Eigen/LU>
#include <cmath>
#include <filesystem>

#include "lumen/apps/export_points.h"
#include "lumen/apps/exporting.h"
#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/surface/map_surface.h"
#include "lumen/surface/triangle_tree.h"

namespace lumen {

namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

// Shares of the distance a point was seen from. Neighbouring points err alike, by the path between their
// views, however well their own rays meet.
constexpr double kSharedError = 0.02, kMostError = 0.1, kMostFromWall = 0.1;

// A corner is found again to some 0.4 of a pixel of pictures of this width.
constexpr double kPixel = 0.4, kWidth = 320;

struct RayBundle {
  Vector3d from = Vector3d::Zero();         // mean place of the cameras
  Matrix3d information = Matrix3d::Zero();  // of the point, by its sightings
};

RayBundle BundleOf(const ExportedScene& scene, const PinholeCamera& camera, const ExportedPoint& point,
                   double pixel) {
  RayBundle bundle;
  for (const ExportedSighting& sighting : point.sightings) {
    const Rigid3& pose = scene.images[static_cast<size_t>(sighting.image)].world_from_camera;
    const Vector3d x = pose.Inverse() * point.position;
    Eigen::Matrix<double, 2, 3> by_x;
    by_x << camera.fx, 0, -camera.fx * x.x() / x.z(), 0, camera.fy, -camera.fy * x.y() / x.z();
    const Eigen::Matrix<double, 2, 3> by_point = by_x * pose.RotationMatrix().transpose() / (x.z() * pixel);
    bundle.information += by_point.transpose() * by_point;
    bundle.from += pose.Translation() / static_cast<double>(point.sightings.size());
  }
  return bundle;
}

}  // namespace

SurfacePoints PointsOnSurface(const ExportedScene& scene, double pixel, const TriangleMesh& surface) {
  SurfacePoints points;
  const TriangleTree tree(surface);
  const PinholeCamera camera = *scene.camera.AsPinhole();
  for (const ExportedPoint& point : scene.points) {
    const RayBundle bundle = BundleOf(scene, camera, point, pixel);
    const double distance = (point.position - bundle.from).norm();
    const auto wall = tree.FindNearest(point.position, kMostFromWall * distance);
    if (!wall) continue;
    Matrix3d covariance;
    bool crossing = false;
    bundle.information.computeInverseWithCheck(covariance, crossing, 0);
    const double sigma =
        std::hypot(std::sqrt(wall->normal.dot(covariance * wall->normal)), kSharedError * distance);
    if (!crossing || !(sigma < kMostError * distance)) continue;
    points.points.push_back(point.position);
    points.normals.push_back(wall->normal);
    points.weights.push_back(1 / sigma);
    points.seen_from.push_back(bundle.from);
  }
  return points;
}

SurfacePoints MeasureMapPoints(const MapSnapshot& map, int submap, const TriangleMesh& surface, int threads) {
  ExportedScene scene;
  std::vector<PointedView> views;
  std::vector<size_t> images;
  for (const auto& [id, keyframe] : map.keyframes) {
    const RgbImage& fine = keyframe.keyframe->fine;
    const std::shared_ptr<const View>& view = keyframe.keyframe->frame->view;
    if (keyframe.submap != submap || !view->camera.IsPinhole()) continue;
    const UnifiedCamera& seen = view->camera;
    const Camera camera(PinholeCamera{seen.fx, seen.fy, seen.cx, seen.cy}, view->mask.Width(),
                        view->mask.Height());
    const RgbImage& picture = fine.Empty() ? keyframe.keyframe->frame->image : fine;
    if (views.empty()) scene.camera = camera.Resized(picture.Width(), picture.Height());
    images.push_back(scene.images.size());
    scene.images.push_back({"", keyframe.state.world_from_camera, {}, false});
    views.push_back(MakePointedView(keyframe.state.world_from_camera, view, picture, KeyframeDepth(keyframe),
                                    ExportPointOptions().corners));
  }
  if (views.empty()) return {};
  AddMatchedPoints(views, images, *scene.camera.AsPinhole(), {}, scene, threads);
  return PointsOnSurface(scene, kPixel * scene.camera.Width() / kWidth, surface);
}

SurfacePoints MeasureRunPoints(const RunFolder& run, const TriangleMesh& surface) {
  if (!std::filesystem::exists(run.path / run_file::kImages) || !run.depth_camera) return {};
  try {
    SceneOptions options;
    options.pictures = false;
    options.input = false;
    const ExportedScene scene = ExportScene(run, options, {});
    return PointsOnSurface(scene, kPixel * scene.camera.Width() / kWidth, surface);
  } catch (const InputError& error) {
    LogWarning(error.what(), ": the surface is registered without measured points");
    return {};
  }
}

}  // namespace lumen
