// Points of a run's keyframes for other tools: corners of one picture found again in others by matching, each
// put where their rays meet. What is written as a sighting was measured; nothing is projected.
#pragma once

#include "lumen/io/scene_export.h"
#include "lumen/points/point_matching.h"

namespace lumen {

struct PointedView {
  Rigid3 world_from_camera;
  PointSet points;
  DepthImage depth;                             // along z, at the view's size
  std::vector<std::array<uint8_t, 3>> colours;  // of the points
};

struct ExportPointOptions {
  int corners = 500;           // a picture
  int partners = 10;           // pictures that each is looked for in
  size_t least_sightings = 3;  // of a point, its own picture's among them
  double most_error = 1.0;     // pixels of a sighting
  double least_angle = 0.5;    // degrees between the outermost rays
};

// A keyframe's picture and depth, `times` as fine and at the size of the view.
PointedView MakePointedView(const Rigid3& world_from_camera, const std::shared_ptr<const View>& view,
                            const RgbImage& fine, DepthImage depth, int corners);

// Adds points, and their pixels to the images: those at `images`, in the views' order. `camera` is that of
// the pictures the points were found in; the scene's may be finer.
void AddMatchedPoints(const std::vector<PointedView>& views, const std::vector<size_t>& images,
                      const PinholeCamera& camera, const ExportPointOptions& options, ExportedScene& scene,
                      int threads);

// Where rays meet, nearest in pixels to all sightings; those farther off than `most_error` are dropped, the
// worst first. Nothing where fewer than two are left, or the point lies behind a camera.
struct RaySighting {
  Rigid3 camera_from_world;
  Eigen::Vector2d pixel;
  bool kept = true;
};
struct MetPoint {
  Eigen::Vector3d position;
  double error = 0;  // mean over those kept
};
std::optional<MetPoint> MeetRays(const PinholeCamera& camera, std::vector<RaySighting>& sightings,
                                 double most_error);

}  // namespace lumen
