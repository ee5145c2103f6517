#include "lumen/apps/coverage_words.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "lumen/base/file.h"
#include "lumen/coverage/flat_map.h"
#include "lumen/eval/svg.h"
#include "lumen/io/coverage_mesh.h"
#include "lumen/io/mesh_file.h"
#include "lumen/io/png.h"

namespace lumen {

namespace fs = std::filesystem;
using Eigen::Vector2d;
using Eigen::Vector3d;

namespace {

std::string AreaInWords(double area, const WallCoverage& coverage, int way) {
  const double mm = coverage.mm_per_unit, width = coverage.widths[static_cast<size_t>(way)];
  if (mm > 0) return Numbered(mm * mm * area >= 10 ? "%.1f cm²" : "%.2f cm²", mm * mm * area / 100);
  return Numbered("%.2f widths²", area / (width * width));
}

double PathPart(const WallCoverage& coverage, PieceState state) {
  double part = 0, all = 0;
  for (const Stretch& stretch : coverage.stretches) {
    all += stretch.area;
    part += stretch.area * (state == PieceState::kAfar ? stretch.afar : stretch.glance);
  }
  return all > 0 ? 100 * part / all : 0;
}

double WholeLength(const WallCoverage& coverage) {
  double length = 0;
  for (const ArcCurve& way : coverage.ways) length += static_cast<double>(way.Length());
  return length;
}

}  // namespace

std::string Numbered(const char* format, double value) {
  char text[60];
  std::snprintf(text, sizeof(text), format, value);
  return text;
}

std::string LengthInWords(double length, const WallCoverage& coverage, int way) {
  if (coverage.mm_per_unit > 0) return Numbered("%.1f cm", coverage.mm_per_unit * length / 10);
  return Numbered("%.1f widths", length / coverage.widths[static_cast<size_t>(way)]);
}

std::string SpotInWords(const MissedSpot& spot, const WallCoverage& coverage) {
  const std::string way = coverage.ways.size() > 1 ? StrCat(" on way ", spot.way + 1) : "";
  return StrCat(spot.behind_fold ? "Behind a fold, " : "Beside the view, ",
                LengthInWords(spot.along, coverage, spot.way), " in", way, ", ",
                AreaInWords(spot.area, coverage, spot.way), " were not seen: go back to frame ", spot.frame,
                Numbered(" (%.1f s)", spot.time),
                spot.is_ahead ? ", at " : " and turn the tip back, towards ", spot.clock, " o'clock.");
}

std::vector<std::string> DescribeCoverage(const WallCoverage& coverage, size_t most_spots) {
  if (coverage.ways.empty())
    return {"How much of the wall was seen cannot be told: there is no surface, or the scope hardly moved."};
  const auto percent = [](double share) { return Numbered("%.0f", 100 * share); };
  std::vector<std::string> words;
  words.push_back(StrCat("Along ", LengthInWords(WholeLength(coverage), coverage, 0), ", ",
                         percent(coverage.seen), " ± ", percent(coverage.sigma), " % of the wall were seen, ",
                         Numbered("%.0f", PathPart(coverage, PieceState::kAfar)), " % from afar only and ",
                         Numbered("%.0f", PathPart(coverage, PieceState::kGlance)), " % at a glance only",
                         coverage.mm_per_unit > 0
                             ? "."
                             : "; lengths are in widths of the lumen, since millimetres are not known."));
  if (coverage.spots.empty())
    words.emplace_back("No spot worth going back for was missed.");
  else
    words.push_back(StrCat(coverage.spots.size(), coverage.spots.size() > 1 ? " spots were" : " spot was",
                           " not seen", coverage.spots.size() > most_spots ? "; the largest:" : ":"));
  for (size_t i = 0; i < std::min(most_spots, coverage.spots.size()); ++i)
    words.push_back(SpotInWords(coverage.spots[i], coverage));
  return words;
}

namespace {

Json PlaceToJson(const Vector3d& p) {
  Json json = Json::MakeArray();
  for (int i = 0; i < 3; ++i) json.Append(p[i]);
  return json;
}

Json StretchToJson(const Stretch& stretch) {
  Json json = Json::MakeObject();
  json["way"] = stretch.way;
  json["from"] = stretch.from;
  json["to"] = stretch.to;
  json["area"] = stretch.area;
  json["seen"] = stretch.seen;
  json["sigma"] = stretch.sigma;
  json["afar"] = stretch.afar;
  json["glance"] = stretch.glance;
  return json;
}

Json SpotToJson(const MissedSpot& spot, const WallCoverage& coverage) {
  Json json = Json::MakeObject();
  json["way"] = spot.way;
  json["along"] = spot.along;
  json["area"] = spot.area;
  json["extent"] = spot.extent;
  json["middle"] = PlaceToJson(spot.middle);
  json["behind_fold"] = spot.behind_fold;
  json["frame"] = spot.frame;
  json["time"] = spot.time;
  json["clock"] = spot.clock;
  json["ahead"] = spot.is_ahead;
  json["words"] = SpotInWords(spot, coverage);
  return json;
}

std::string SpotsToCsv(const WallCoverage& coverage) {
  std::string csv = "way,along,area,extent,x,y,z,behind_fold,frame,time,clock,ahead\n";
  for (const MissedSpot& spot : coverage.spots)
    csv += StrCat(spot.way, ',', spot.along, ',', spot.area, ',', spot.extent, ',', spot.middle.x(), ',',
                  spot.middle.y(), ',', spot.middle.z(), ',', spot.behind_fold ? 1 : 0, ',', spot.frame, ',',
                  spot.time, ',', spot.clock, ',', spot.is_ahead ? 1 : 0, '\n');
  return csv;
}

}  // namespace

Json CoverageToJson(const WallCoverage& coverage) {
  Json json = Json::MakeObject();
  json["mm_per_unit"] = coverage.mm_per_unit > 0 ? Json(coverage.mm_per_unit) : Json();
  json["seen"] = coverage.seen;
  json["sigma"] = coverage.sigma;
  json["words"] = Json::MakeArray();
  for (const std::string& words : DescribeCoverage(coverage, 0)) json["words"].Append(words);
  json["ways"] = Json::MakeArray();
  for (size_t i = 0; i < coverage.ways.size(); ++i) {
    Json way = Json::MakeObject();
    way["length"] = static_cast<double>(coverage.ways[i].Length());
    way["width"] = coverage.widths[i];
    way["step"] = static_cast<double>(coverage.ways[i].Step());
    way["points"] = Json::MakeArray();
    for (const CurvePoint& point : coverage.ways[i].Points())
      way["points"].Append(PlaceToJson(point.position.cast<double>()));
    json["ways"].Append(way);
  }
  json["stretches"] = Json::MakeArray();
  for (const Stretch& stretch : coverage.stretches) json["stretches"].Append(StretchToJson(stretch));
  json["spots"] = Json::MakeArray();
  for (const MissedSpot& spot : coverage.spots) json["spots"].Append(SpotToJson(spot, coverage));
  return json;
}

namespace {

constexpr double kLeft = 20, kMapHeight = 180, kAbove = 62, kBelow = 34;

// One way's map with what is said of it, `top` pixels down.
void DrawWay(const WallCoverage& coverage, int way, double top, double width, Svg& svg) {
  const auto w = static_cast<size_t>(way);
  const double length = static_cast<double>(coverage.ways[w].Length());
  const auto x_of = [&](double along) { return kLeft + width * along / length; };
  const double map_top = top + kAbove;
  if (coverage.ways.size() > 1) svg.Text({kLeft, top + 14}, StrCat("way ", way + 1), {.bold = true});
  svg.Image({kLeft, map_top, width, kMapHeight}, EncodePng(DrawFlatMap(coverage, way)));
  for (const Stretch& stretch : coverage.stretches) {
    if (stretch.way != way) continue;
    svg.Line({x_of(stretch.from), map_top - 24}, {x_of(stretch.from), map_top + kMapHeight}, {.width = 0.6});
    svg.Text({0.5 * (x_of(stretch.from) + x_of(stretch.to)), map_top - 8},
             StrCat(Numbered("%.0f", 100 * stretch.seen), " ± ", Numbered("%.0f %%", 100 * stretch.sigma)),
             {.anchor = "middle"});
    svg.Text({x_of(stretch.from), map_top + kMapHeight + 16}, LengthInWords(stretch.from, coverage, way),
             {.size = 11, .anchor = stretch.from > 0 ? "middle" : "start", .color = "#555555"});
  }
  svg.Text({x_of(length), map_top + kMapHeight + 16}, LengthInWords(length, coverage, way),
           {.size = 11, .anchor = "end", .color = "#555555"});
}

void DrawSpots(const WallCoverage& coverage, int way, double top, double width, Svg& svg) {
  const auto w = static_cast<size_t>(way);
  const ArcCurve& curve = coverage.ways[w];
  for (size_t i = 0; i < coverage.spots.size(); ++i) {
    const MissedSpot& spot = coverage.spots[i];
    if (spot.way != way) continue;
    const CurvePoint at = curve.At(static_cast<float>(spot.along));
    const Vector3d off = spot.middle - at.position.cast<double>();
    double round =
        std::atan2(off.dot(at.binormal.cast<double>()), off.dot(at.normal.cast<double>())) / (2 * M_PI);
    if (round < 0) round += 1;
    const Vector2d place(kLeft + width * spot.along / static_cast<double>(curve.Length()),
                         top + kAbove + kMapHeight * round);
    svg.Marker(place, MarkerShape::kCircle, 18, "#ffffff", {.width = 1.2});
    svg.Text({place.x(), place.y() + 4}, StrCat(i + 1), {.size = 11, .anchor = "middle", .bold = true});
  }
}

void DrawLegend(double top, Svg& svg) {
  const std::array<std::pair<PieceState, const char*>, 5> entries = {
      {{PieceState::kSeen, "seen"},
       {PieceState::kNotSeen, "not seen"},
       {PieceState::kAfar, "from afar only"},
       {PieceState::kGlance, "at a glance only"},
       {PieceState::kOutside, "not this way's wall"}}};
  double x = kLeft;
  for (const auto& [state, text] : entries) {
    const StateColor color = ColorOf(state);
    char fill[8];
    std::snprintf(fill, sizeof(fill), "#%02x%02x%02x", color[0], color[1], color[2]);
    svg.Rect({x, top, 13, 13}, fill);
    svg.Text({x + 18, top + 11}, text);
    x += 130;
  }
}

}  // namespace

std::string DrawCoverage(const WallCoverage& coverage) {
  constexpr double kWidth = 860, kLegend = 30, kLeast = 300;
  const double way_height = kAbove + kMapHeight + kBelow;
  Svg svg(kWidth + 2 * kLeft,
          kLegend + way_height * static_cast<double>(std::max<size_t>(1, coverage.ways.size())));
  if (coverage.ways.empty()) svg.Text({kLeft, 40}, "no way, no map");
  const double longest = coverage.ways.empty()
                             ? 1
                             : static_cast<double>(coverage.ways.front().Length()) / coverage.widths.front();
  for (int way = 0; way < static_cast<int>(coverage.ways.size()); ++way) {
    const auto w = static_cast<size_t>(way);
    const double widths = static_cast<double>(coverage.ways[w].Length()) / coverage.widths[w];
    const double width = std::clamp(kWidth * widths / longest, kLeast, kWidth);
    DrawWay(coverage, way, way_height * way, width, svg);
    DrawSpots(coverage, way, way_height * way, width, svg);
  }
  if (!coverage.ways.empty()) DrawLegend(way_height * static_cast<double>(coverage.ways.size()) + 4, svg);
  return svg.Finish();
}

CoverageMesh AsCoverageMesh(const WallCoverage& coverage) {
  CoverageMesh mesh;
  mesh.mesh.vertices = coverage.wall.vertices;
  for (size_t i = 0; i < coverage.wall.triangles.size(); ++i) {
    if (coverage.states[i] == PieceState::kOutside) continue;
    mesh.mesh.triangles.push_back(coverage.wall.triangles[i]);
    mesh.seen.push_back(coverage.states[i] != PieceState::kNotSeen);
  }
  return mesh;
}

void SaveCoverage(const fs::path& folder, const WallCoverage& coverage) {
  MakeDirectories(folder);
  WriteFileAtomically(folder / coverage_file::kSpots, SpotsToCsv(coverage));
  WriteFileAtomically(folder / coverage_file::kMap, DrawCoverage(coverage));
  SaveMesh(folder / coverage_file::kMesh, ColorByCoverage(coverage), "Lumen: what was seen of the wall");
  SaveCoverageMesh(folder / kCoverageMeshFile, AsCoverageMesh(coverage));
  WriteFileAtomically(folder / coverage_file::kJson, CoverageToJson(coverage).Dump(2) + "\n");
}

ViewCoverage ShowCoverage(const WallCoverage& coverage, const TriangleMesh& surface, int threads) {
  ViewCoverage shown{ColorSurface(coverage, surface, threads), Json::MakeObject()};
  shown.facts["words"] = Json::MakeArray();
  for (const std::string& words : DescribeCoverage(coverage, 0)) shown.facts["words"].Append(words);
  shown.facts["spots"] = Json::MakeArray();
  for (const MissedSpot& spot : coverage.spots) shown.facts["spots"].Append(SpotToJson(spot, coverage));
  return shown;
}

}  // namespace lumen
