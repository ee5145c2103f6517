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
  double slack = 0;  // what stands before a piece by less does not hide it; in the wall's unit
};
struct WallSighting {
  int frames = 0;          // that see it
  double straightest = 0;  // largest cosine between its normal and a frame that sees it, however flatly
};
// `wall` is what may stand in the way.
std::vector<WallSighting> FindWallSightings(const std::vector<WallPiece>& pieces, const TriangleTree& wall,
                                            const Eye& eye, const std::vector<Rigid3>& world_from_camera,
                                            const SightingOptions& options, int threads);
// Whether any of the frames sees them, sooner known than how many.
std::vector<char> FindSeenPieces(const std::vector<WallPiece>& pieces, const TriangleTree& wall,
                                 const Eye& eye, const std::vector<Rigid3>& world_from_camera,
                                 const SightingOptions& options, int threads);
// Which pieces can be seen from any of these places, whatever the direction.
std::vector<char> FindOpenPieces(const std::vector<WallPiece>& pieces, const TriangleTree& wall,
                                 const std::vector<Eigen::Vector3d>& places, const SightingOptions& options,
                                 int threads);

// By depth maps, which say themselves what stands in the way: a piece is hidden where a map ends before it by
// more than a slack.
struct DepthSightingOptions {
  double flattest_degrees = kFlattestDegrees;
  double slack = 0.06;    // share of the distance
  double through = 0.12;  // what is shown that much farther away is seen through the piece
  int border_pixels = 2;
};
struct DepthSighting {
  int views = 0;           // that show it, not too flatly
  int hidden = 0;          // that look where it is, and see something before it
  int through = 0;         // that see through it, to something farther away
  double straightest = 0;  // largest cosine between its normal and a view that shows it, however flatly
  double nearest = std::numeric_limits<double>::infinity();  // from where `views` show it
  int nearest_view = -1;
};
std::vector<DepthSighting> FindDepthSightings(const std::vector<WallPiece>& pieces, const ViewList& views,
                                              const DepthSightingOptions& options, int threads);

// How probable it is that the wall there was seen, by depth maps and by all frames' rays. Depth maps show a
// wall without its small relief, whose faces are looked at less or more flatly than the whole; `off_degrees`
// shifts the limit.
double ChanceSeen(const DepthSighting& sighting, const WallSighting& by_rays, double off_degrees = 0);
inline constexpr double kReliefDegrees = 10;  // standard deviation of the relief's slope

}  // namespace lumen
