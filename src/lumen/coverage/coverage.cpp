#include "lumen/coverage/coverage.h"

#include <algorithm>
#include <cmath>

#include "lumen/coverage/spots.h"
#include "lumen/coverage/unrolled_wall.h"
#include "lumen/surface/mesh_tools.h"
#include "lumen/surface/weighted_middle.h"

namespace lumen {

using Eigen::Vector3d;
using Eigen::Vector3f;

void CoverageOptions::Describe(ConfigVisitor& visitor) {
  visitor.Field("mm_per_unit", mm_per_unit,
                {.min = 0, .unit = "mm", .help = "of the map's unit; 0: not known"});
  visitor.Field(
      "stretch_mm", stretch_mm,
      {.min = 1, .max = 1000, .unit = "mm", .help = "of the way; a width of the lumen if mm are not known"});
  visitor.Field(
      "wide_spot_mm2", wide_spot_mm2,
      {.min = 0, .unit = "mm²", .help = "spots not seen that are told of, where the lumen is wide"});
  visitor.Field("spot_mm2", spot_mm2, {.min = 0, .unit = "mm²", .help = "the same in narrow ones"});
  visitor.Field("spot_share", spot_share,
                {.min = 0, .max = 10, .help = "the same where mm are not known: of a width's square"});
  visitor.Field(
      "afar_widths", afar_widths,
      {.min = 0, .unit = "widths", .help = "of the lumen; what was never nearer was seen from afar only"});
  visitor.Field("glance_seconds", glance_seconds,
                {.min = 0, .unit = "s", .help = "what was seen for less was seen at a glance only"});
}

namespace {

constexpr double kWideLumen = 24;  // mm: colons and stomachs, not airways and noses

// How far the surface is from where the scope was, usually.
double MeasureRoom(const TriangleTree& surface, const std::vector<CoverageFrame>& frames) {
  constexpr size_t kLooks = 100;
  std::vector<float> room;
  for (size_t i = 0; i < frames.size(); i += std::max<size_t>(1, frames.size() / kLooks)) {
    const Vector3d at = frames[i].world_from_camera.Translation();
    const auto hit = surface.FindNearest(at, std::numeric_limits<double>::max());
    if (hit) room.push_back(static_cast<float>((hit->point - at).norm()));
  }
  return room.empty() ? 0 : static_cast<double>(MedianOf(room));
}

// Twice the usual distance of the wall, round a way.
double MeasureWidth(const ArcCurve& way, const TriangleTree& wall) {
  constexpr int kRows = 40, kDirections = 24;
  std::vector<float> radii;
  for (int row = 0; row < kRows; ++row) {
    const CurvePoint at = way.At(way.Length() * static_cast<float>(row) / (kRows - 1));
    for (int k = 0; k < kDirections; ++k) {
      const auto distance =
          wall.FindFirst(at.position.cast<double>(), DirectionRound(at, k, kDirections).cast<double>());
      if (distance) radii.push_back(static_cast<float>(*distance));
    }
  }
  return radii.empty() ? 0 : 2 * static_cast<double>(MedianOf(radii));
}

// Where all that was seen lies ahead, or behind, there is no wall to close.
bool IsKnownRound(const UnrolledWall& wall) {
  constexpr double kLeast = 0.01;  // of the directions from all of its places
  const auto found = std::count_if(wall.found.Data(), wall.found.Data() + wall.found.Size(),
                                   [](uint8_t known) { return known != 0; });
  return static_cast<double>(found) >= kLeast * static_cast<double>(wall.found.Size());
}

// Pieces whose normals are their corners', so that a surface's roughness does not decide how flatly it was
// seen.
std::vector<WallPiece> SmoothPieces(const TriangleMesh& mesh) {
  const std::vector<Vector3f> normals = ComputeVertexNormals(mesh);
  std::vector<WallPiece> pieces = PiecesOf(mesh);
  for (size_t i = 0; i < pieces.size(); ++i) {
    Vector3f sum = Vector3f::Zero();
    for (const int32_t corner : mesh.triangles[i]) sum += normals[static_cast<size_t>(corner)];
    if (sum.norm() > 0) pieces[i].normal = sum.cast<double>().normalized();
  }
  return pieces;
}

// Where any of the depth maps knows a depth: what of the picture is content.
Mask ContentOf(const ViewList& views) {
  Mask content;
  for (int i = 0; i < views.count; ++i) {
    const DepthView view = views.load(i);
    if (content.Empty()) content = Mask(view.depth.Width(), view.depth.Height());
    for (size_t k = 0; k < view.depth.Size() && SameSize(content, view.depth); ++k)
      if (view.depth.Data()[k] > 0) content.Data()[k] = 255;
  }
  return content;
}

// What the placed frames see of the pieces, of which frames some are enough; and the seconds between those.
struct LookBack {
  std::vector<WallSighting> sightings;
  double between = 0;
};
LookBack LookBackAt(const std::vector<WallPiece>& pieces, const TriangleTree& wall,
                    const CoverageInput& input, double slack, int threads) {
  constexpr size_t kMostFrames = 300;
  const size_t stride = std::max<size_t>(1, (input.frames.size() + kMostFrames - 1) / kMostFrames);
  std::vector<Rigid3> poses;
  std::vector<float> gaps;
  for (size_t i = 0; i < input.frames.size(); i += stride) poses.push_back(input.frames[i].world_from_camera);
  for (size_t i = 1; i < input.frames.size(); ++i)
    gaps.push_back(static_cast<float>(input.frames[i].time - input.frames[i - 1].time));
  Eye eye = input.eye;
  if (eye.mask.Empty()) eye.mask = ContentOf(input.views);
  LookBack back;
  back.between = gaps.empty() ? 0 : static_cast<double>(stride) * static_cast<double>(MedianOf(gaps));
  back.sightings = FindWallSightings(pieces, wall, eye, poses, {.slack = slack}, threads);
  return back;
}

// The wall's pieces with all that is known of each.
struct Judged {
  std::vector<WallPiece> pieces;
  std::vector<DepthSighting> sightings;
  LookBack back;
  std::vector<std::optional<PlaceOnWay>> places;
};

PieceState StateOf(const Judged& judged, size_t piece, double width, const CoverageOptions& options) {
  const DepthSighting& sighting = judged.sightings[piece];
  const WallSighting& by_rays = judged.back.sightings[piece];
  if (ChanceSeen(sighting, by_rays) < 0.5) return PieceState::kNotSeen;
  // Where rays alone tip the balance no map says from how far.
  if (std::isfinite(sighting.nearest) && sighting.nearest > options.afar_widths * width)
    return PieceState::kAfar;
  return judged.back.between * by_rays.frames < options.glance_seconds ? PieceState::kGlance
                                                                       : PieceState::kSeen;
}

double StretchLength(const CoverageOptions& options, double width) {
  return options.mm_per_unit > 0 ? options.stretch_mm / options.mm_per_unit : width;
}

// Of a stretch, by chance.
struct Sums {
  double area = 0, afar = 0, glance = 0;
  double seen = 0, seen_if_strict = 0, seen_if_lenient = 0, made_up = 0;

  void Add(const WallPiece& piece, PieceState state, const DepthSighting& sighting,
           const WallSighting& back) {
    constexpr double kHidden = 1.1;  // what no map shows is larger than the smooth wall that closes it
    const double chance = ChanceSeen(sighting, back);
    const double weight = piece.area * (kHidden + (1 - kHidden) * chance);
    area += weight;
    seen += weight * chance;
    seen_if_strict += weight * ChanceSeen(sighting, back, -kReliefDegrees);
    seen_if_lenient += weight * ChanceSeen(sighting, back, kReliefDegrees);
    made_up += sighting.straightest > 0 ? 0 : weight;
    afar += state == PieceState::kAfar ? weight : 0;
    glance += state == PieceState::kGlance ? weight : 0;
  }
  double Share(double part) const { return area > 0 ? part / area : 0; }
  // Part of it is always there, part hangs on the limit of what counts as seen, part on where what no map
  // shows begins.
  double Sigma() const {
    constexpr double kAlways = 0.01, kOfLimit = 0.45, kOfMadeUp = 0.2;
    const double unknown = Share(made_up);
    return std::hypot(kAlways, kOfLimit * Share(seen_if_lenient - seen_if_strict),
                      kOfMadeUp * unknown * (1 - unknown));
  }
};

void AddStretches(const Judged& judged, const CoverageOptions& options, WallCoverage& coverage) {
  std::vector<std::vector<Sums>> sums;
  for (size_t way = 0; way < coverage.ways.size(); ++way) {
    const double length = static_cast<double>(coverage.ways[way].Length());
    const auto count =
        static_cast<size_t>(std::max(1.0, std::round(length / StretchLength(options, coverage.widths[way]))));
    sums.emplace_back(count);
  }
  Sums all;
  for (size_t i = 0; i < judged.pieces.size(); ++i) {
    if (coverage.states[i] == PieceState::kOutside) continue;
    const PlaceOnWay& at = *judged.places[i];
    std::vector<Sums>& of_way = sums[static_cast<size_t>(at.way)];
    const double share =
        static_cast<double>(at.place.s / coverage.ways[static_cast<size_t>(at.way)].Length());
    const auto stretch =
        static_cast<size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(of_way.size()));
    of_way[std::min(stretch, of_way.size() - 1)].Add(judged.pieces[i], coverage.states[i],
                                                     judged.sightings[i], judged.back.sightings[i]);
    all.Add(judged.pieces[i], coverage.states[i], judged.sightings[i], judged.back.sightings[i]);
  }
  for (size_t way = 0; way < sums.size(); ++way) {
    const double length = static_cast<double>(coverage.ways[way].Length());
    const auto count = static_cast<double>(sums[way].size());
    for (size_t k = 0; k < sums[way].size(); ++k) {
      const Sums& sum = sums[way][k];
      coverage.stretches.push_back({static_cast<int>(way), length * static_cast<double>(k) / count,
                                    length * static_cast<double>(k + 1) / count, sum.area,
                                    sum.Share(sum.seen), sum.Sigma(), sum.Share(sum.afar),
                                    sum.Share(sum.glance)});
    }
  }
  coverage.seen = all.Share(all.seen);
  coverage.sigma = all.Sigma();
}

void AddSpots(const Judged& judged, const CoverageInput& input, const TriangleTree& tree,
              const CoverageOptions& options, WallCoverage& coverage) {
  for (size_t way = 0; way < coverage.ways.size(); ++way) {
    std::vector<char> missed(judged.pieces.size(), 0);
    for (size_t i = 0; i < missed.size(); ++i)
      missed[i] =
          coverage.states[i] == PieceState::kNotSeen && judged.places[i]->way == static_cast<int>(way);
    for (const std::vector<int>& spot :
         FindSpots(coverage.wall, judged.pieces, missed, LeastSpot(options, coverage.widths[way])))
      coverage.spots.push_back(
          DescribeSpot(spot, judged.pieces, judged.sightings, judged.places, tree, input));
  }
  std::stable_sort(coverage.spots.begin(), coverage.spots.end(),
                   [](const MissedSpot& a, const MissedSpot& b) { return a.area > b.area; });
}

WallCoverage Judge(TriangleMesh wall, const std::vector<ArcCurve>& ways, const CoverageInput& input,
                   const CoverageOptions& options, double slack, int threads) {
  constexpr double kOpenSlack = 0.01, kTimeSlack = 0.1;  // widths
  WallCoverage coverage;
  coverage.ways = ways;
  coverage.mm_per_unit = options.mm_per_unit;
  coverage.wall = std::move(wall);
  const TriangleTree tree(coverage.wall);
  for (const ArcCurve& way : ways) coverage.widths.push_back(MeasureWidth(way, tree));
  const double width = coverage.widths.front();
  if (!(*std::min_element(coverage.widths.begin(), coverage.widths.end()) > 0)) return {};
  const WayLocator locator(ways, static_cast<float>(2 * width));
  Judged judged{SmoothPieces(coverage.wall), {}, {}, {}};
  for (const WallPiece& piece : judged.pieces)
    judged.places.push_back(locator.Locate(piece.middle.cast<float>()));
  const std::vector<char> open = FindOpenPieces(judged.pieces, tree, LookoutsOf(ways, coverage.widths),
                                                {.slack = kOpenSlack * width}, threads);
  DepthSightingOptions sight;
  sight.slack += slack;
  judged.sightings = FindDepthSightings(judged.pieces, input.views, sight, threads);
  judged.back = LookBackAt(judged.pieces, tree, input, kTimeSlack * width, threads);
  for (size_t i = 0; i < judged.pieces.size(); ++i) {
    const bool of_a_way = open[i] != 0 && judged.places[i].has_value();
    coverage.states.push_back(
        of_a_way ? StateOf(judged, i, coverage.widths[static_cast<size_t>(judged.places[i]->way)], options)
                 : PieceState::kOutside);
  }
  AddStretches(judged, options, coverage);
  AddSpots(judged, input, tree, options, coverage);
  return coverage;
}

}  // namespace

double LeastSpot(const CoverageOptions& options, double width) {
  const double mm = options.mm_per_unit;
  if (!(mm > 0)) return options.spot_share * width * width;
  return (mm * width >= kWideLumen ? options.wide_spot_mm2 : options.spot_mm2) / (mm * mm);
}

std::vector<Vector3d> LookoutsOf(const std::vector<ArcCurve>& ways, const std::vector<double>& widths) {
  constexpr double kApart = 0.25;  // widths
  std::vector<Vector3d> places;
  for (size_t i = 0; i < ways.size(); ++i) {
    const auto count =
        static_cast<int>(std::ceil(static_cast<double>(ways[i].Length()) / (kApart * widths[i])));
    for (int k = 0; k <= count; ++k)
      places.push_back(
          ways[i]
              .At(ways[i].Length() * static_cast<float>(k) / static_cast<float>(std::max(1, count)))
              .position.cast<double>());
  }
  return places;
}

std::vector<ArcCurve> FindWaysThrough(const TriangleTree& surface, const std::vector<CoverageFrame>& frames) {
  const double room = MeasureRoom(surface, frames);
  if (!(room > 0)) return {};
  std::vector<Vector3d> path;
  for (const CoverageFrame& frame : frames) path.push_back(frame.world_from_camera.Translation());
  return FindWays(path,
                  {.spacing = 0.25 * room, .smoothing = room, .least_branch = 3 * room, .step = 0.1 * room});
}

WallCoverage MeasureCoverage(const TriangleMesh& surface, const CoverageInput& input,
                             const CoverageOptions& options, int threads) {
  if (!HasArea(surface)) return {};
  const TriangleTree tree(surface);
  std::vector<ArcCurve> ways;
  std::vector<UnrolledWall> walls;
  for (const ArcCurve& way : FindWaysThrough(tree, input.frames)) {
    UnrolledWall wall = CloseWall(way, tree, input.views, threads);
    if (!IsKnownRound(wall)) continue;
    ways.push_back(way);
    walls.push_back(std::move(wall));
  }
  if (ways.empty()) return {};
  return Judge(MeshWalls(walls), ways, input, options, 0, threads);
}

WallCoverage MeasureCoverageOf(const TriangleMesh& wall, const std::vector<ArcCurve>& ways,
                               const CoverageInput& input, const CoverageOptions& options, double slack,
                               int threads) {
  if (!HasArea(wall) || ways.empty()) return {};
  return Judge(wall, ways, input, options, slack, threads);
}

}  // namespace lumen
