// How complete an examination was: which parts of an organ's wall, between where the scope has been, were
// seen; how much of each stretch; and which spots were not, with the frame to go back to.
//
// What counts as wall of a way is what can be seen from somewhere on it, looking all round: what lies deep in
// side passages does not, nor what lies beyond the ways' ends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lumen/base/config.h"
#include "lumen/coverage/sightings.h"
#include "lumen/coverage/way.h"

namespace lumen {

struct CoverageOptions {
  double mm_per_unit = 0;     // of the map; 0: not known, lengths are then in widths of the lumen
  double stretch_mm = 20;     // where millimetres are known; else a width
  double wide_spot_mm2 = 50;  // spots that are told of, where the lumen is wide (a colon, a stomach)
  double spot_mm2 = 10;       // … and in narrower ones
  double spot_share = 0.05;   // … and where millimetres are not known: of a width's square
  double afar_widths = 2;     // what was never nearer was seen from afar only
  double glance_seconds = 0.5;

  void Describe(ConfigVisitor& visitor);
};

struct CoverageFrame {
  int64_t frame = 0;  // in the input's own numbering
  double time = 0;    // seconds
  Rigid3 world_from_camera;
};

// What looked at the wall: depth maps, and every placed frame, in order.
struct CoverageInput {
  ViewList views;
  std::vector<CoverageFrame> frames;
  Eye eye;
};

enum class PieceState : uint8_t { kOutside, kNotSeen, kAfar, kGlance, kSeen };

struct Stretch {
  int way = 0;
  double from = 0, to = 0;      // along the way, in the wall's unit
  double area = 0;              // of its wall
  double seen = 0;              // shares of it
  double sigma = 0;             // standard deviation of `seen`
  double afar = 0, glance = 0;  // of what was seen: only so
};

struct MissedSpot {
  int way = 0;
  double along = 0;  // where on the way
  double area = 0;
  double extent = 0;  // across, the longest
  Eigen::Vector3d middle = Eigen::Vector3d::Zero();
  bool behind_fold = false;  // something stood before it; else it was beside all pictures
  int64_t frame = -1;        // to look again from
  double time = 0;
  int clock = 12;        // where it is from there, as on a clock's face upon the picture
  bool is_ahead = true;  // of the tip there; else it has to be turned back
};

struct WallCoverage {
  std::vector<ArcCurve> ways;
  std::vector<double> widths;  // of the lumen about each, median
  double mm_per_unit = 0;
  TriangleMesh wall;
  std::vector<PieceState> states;  // one for each triangle of the wall
  std::vector<Stretch> stretches;
  std::vector<MissedSpot> spots;  // by size
  double seen = 0, sigma = 0;     // of all stretches
};

// Ways of a path through a surface. Empty if the path hardly moves, or there is no surface.
std::vector<ArcCurve> FindWaysThrough(const TriangleTree& surface, const std::vector<CoverageFrame>& frames);

// Of a fused surface, which is closed first where nothing was seen (unrolled_wall.h). Without a way its
// `ways` are empty.
WallCoverage MeasureCoverage(const TriangleMesh& surface, const CoverageInput& input,
                             const CoverageOptions& options, int threads);
// Of a wall that is known as a whole, from a CT; all in the wall's unit. `slack`: how far, as a share of the
// distance, depth maps may lie off it besides.
WallCoverage MeasureCoverageOf(const TriangleMesh& wall, const std::vector<ArcCurve>& ways,
                               const CoverageInput& input, const CoverageOptions& options, double slack,
                               int threads);

// Connected parts of those triangles, by shared edges, of at least that area; the largest first.
std::vector<std::vector<int>> FindSpots(const TriangleMesh& mesh, const std::vector<WallPiece>& pieces,
                                        const std::vector<char>& wanted, double least_area);

// The area from which on a spot is told of, by the width of the lumen.
double LeastSpot(const CoverageOptions& options, double width);

// Places along ways, dense enough that what is open to none of them is open to nobody.
std::vector<Eigen::Vector3d> LookoutsOf(const std::vector<ArcCurve>& ways, const std::vector<double>& widths);

}  // namespace lumen
