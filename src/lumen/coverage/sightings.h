// What an endoscope has looked at: for each piece of a wall, the frames that saw it. A piece is seen by a
// frame if its middle lies in the frame's picture, nothing stands before it, and it is not looked at too
// flatly.
#pragma once

#include <limits>
#include <vector>

#include "lumen/geometry/camera.h"
#include "lumen/geometry/rigid3.h"
#include "lumen/image/image.h"
#include "lumen/scene/depth_view.h"
#include "lumen/scene/mesh.h"
#include "lumen/surface/triangle_tree.h"

namespace lumen {

// A small piece of wall. The normal points into the lumen.
struct WallPiece {
  Eigen::Vector3d middle = Eigen::Vector3d::Zero();
  Eigen::Vector3d normal = Eigen::Vector3d::UnitZ();
  double area = 0;
};
// One for each triangle.
std::vector<WallPiece> PiecesOf(const TriangleMesh& mesh);

inline constexpr double kFlattestDegrees = 75;  // between the line of sight and the normal

// By the wall itself: what the truth is made with, and what tells for how long a piece was seen.
struct Eye {
  Camera camera;
  Mask mask;  // of any size; empty: all of the picture is content
};
struct SightingOptions {
  double flattest_degrees = kFlattestDegrees;
  double slack = 0;         // what stands before a piece by less does not hide it; in the wall's unit
  bool first_only = false;  // enough to know whether
};
// How many of the frames see each piece. `wall` is what may stand in the way.
std::vector<int> CountSightings(const std::vector<WallPiece>& pieces, const TriangleTree& wall,
                                const Eye& eye, const std::vector<Rigid3>& world_from_camera,
                                const SightingOptions& options, int threads);
// Which pieces can be seen from any of these places, whatever the direction.
std::vector<char> FindOpenPieces(const std::vector<WallPiece>& pieces, const TriangleTree& wall,
                                 const std::vector<Eigen::Vector3d>& places, const SightingOptions& options,
                                 int threads);

// By depth maps, which say themselves what stands in the way: a piece is hidden where a map ends before it by
// more than a slack. Each limit comes as a strict, a usual and a lenient one, so that what hangs on it shows.
inline constexpr int kLimits = 3;
struct DepthSightingOptions {
  std::array<double, kLimits> flattest_degrees = {66, kFlattestDegrees, 80};
  std::array<double, kLimits> slack = {0.04, 0.06, 0.1};  // share of the distance
  int border_pixels = 2;
};
struct DepthSighting {
  std::array<int, kLimits> views = {};  // that show it, under each limit
  int hidden = 0;                       // that look where it is, and see something before it
  int through = 0;                      // that see through it, to something farther away
  double nearest = std::numeric_limits<double>::infinity();  // from where it is shown, under the usual limit
  int nearest_view = -1;
};
std::vector<DepthSighting> FindDepthSightings(const std::vector<WallPiece>& pieces, const ViewList& views,
                                              const DepthSightingOptions& options, int threads);

}  // namespace lumen
