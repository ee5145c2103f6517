#include "lumen/apps/report_findings.h"

#include <algorithm>
#include <cmath>

#include "lumen/apps/coverage_words.h"
#include "lumen/apps/run_coverage.h"
#include "lumen/apps/run_trust.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/parallel.h"
#include "lumen/eval/statistics.h"
#include "lumen/eval/svg.h"
#include "lumen/io/mesh_file.h"
#include "lumen/io/png.h"
#include "lumen/io/run_keyframes.h"

namespace lumen {

namespace fs = std::filesystem;
using Eigen::Vector3d;

namespace {

constexpr size_t kShownSpots = 6;

constexpr const char* kStyle =
    "<style>.verdict{border-left:6px solid #2a8f5b;background:#eef7f1;padding:.5em 1em;margin:1em 0}"
    ".verdict.care{border-color:#c0392b;background:#fbeeec}.verdict p{margin:.25em 0}"
    ".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(210px,1fr));gap:12px;margin:1em 0}"
    ".tiles div{border:1px solid #ddd;border-radius:6px;padding:.6em .9em}.tiles "
    "b{display:block;font-size:1.5em}"
    ".tiles small{color:#444}.spots{display:grid;grid-template-columns:repeat(auto-fill,minmax(240px,1fr));"
    "gap:14px;padding:0;list-style:none}.spots li{page-break-inside:avoid}.spots p{margin:.3em "
    "0;font-size:.9em}"
    ".shot{position:relative;line-height:0}.shot img{width:100%;border-radius:4px}"
    ".shot i{position:absolute;width:26px;height:26px;margin:-15px;border:2.5px solid "
    "#ffd400;border-radius:50%;"
    "box-shadow:0 0 2px #000,inset 0 0 2px #000}"
    "@media print{.verdict,.tiles div{-webkit-print-color-adjust:exact;print-color-adjust:exact}"
    ".tiles{grid-template-columns:repeat(3,1fr)}.spots{grid-template-columns:repeat(3,1fr)}}</style>\n";

std::string Tile(const std::string& question, const std::string& answer, const std::string& more) {
  return StrCat("<div><small>", EscapeXml(question), "</small><b>", EscapeXml(answer), "</b><small>",
                EscapeXml(more), "</small></div>");
}

std::string TileOfLength(const RunFolder& run, const WallCoverage& coverage) {
  double length = 0;
  for (const ArcCurve& way : coverage.ways) length += static_cast<double>(way.Length());
  const size_t ways = coverage.ways.size();
  const double seconds = run.frames.empty() ? 0 : run.frames.back().time - run.frames.front().time;
  const std::string where =
      ways > 1 ? StrCat("on ", ways, " ways") : std::string("of the way the scope went");
  if (ways == 0) return Tile("How far?", "–", "the scope hardly moved, or there is no surface");
  return Tile("How far?", LengthInWords(length, coverage, 0),
              StrCat(where, coverage.mm_per_unit > 0 ? "" : " (widths of the lumen)",
                     Numbered(", in %.0f s", seconds)));
}

std::string TileOfCoverage(const WallCoverage& coverage) {
  if (coverage.ways.empty()) return Tile("How complete?", "–", "cannot be told");
  const size_t spots = coverage.spots.size();
  return Tile("How complete?",
              Numbered("%.0f", 100 * coverage.seen) + Numbered(" ± %.0f %%", 100 * coverage.sigma),
              StrCat("of the wall beside the way were seen; ",
                     spots == 0 ? std::string("no spot worth going back for was missed")
                                : StrCat(spots, spots > 1 ? " spots were not" : " spot was not")));
}

// What the surface says of itself.
std::string TileOfSigma(const TriangleMesh& surface, const WallCoverage& coverage) {
  for (const VertexAttribute& attribute : surface.attributes) {
    if (attribute.name != kSigma || attribute.values.empty() || coverage.ways.empty()) continue;
    const std::vector<double> sigmas(attribute.values.begin(), attribute.values.end());
    const double middle = Quantile(sigmas, 0.5), worst = Quantile(sigmas, 0.9);
    const double mm = coverage.mm_per_unit, width = coverage.widths.front();
    const auto words = [&](double sigma) {
      return mm > 0 ? Numbered("%.2g mm", mm * sigma) : Numbered("%.2g %%", 100 * sigma / width);
    };
    return Tile(
        "How sure?", "± " + words(middle),
        StrCat(mm > 0 ? "" : "of a width: ", "how far the surface may be off (1 σ, half of it); a tenth ",
               words(worst), " and more"));
  }
  return Tile("How sure?", "–", "this run has no surface that tells");
}

// The keyframe next to the frame from which to look again, with the spot marked where it lies.
std::string ShotOf(const MissedSpot& spot, const std::vector<RunKeyframe>& keyframes, const Camera& camera) {
  const RunKeyframe* nearest = nullptr;
  for (const RunKeyframe& keyframe : keyframes) {
    if (keyframe.image.empty()) continue;
    if (nearest == nullptr || std::abs(keyframe.frame - spot.frame) < std::abs(nearest->frame - spot.frame))
      nearest = &keyframe;
  }
  if (nearest == nullptr) return "";
  const Vector3d x = nearest->world_from_camera.Inverse() * spot.middle;
  std::string mark;
  if (const auto uv = x.z() > 0 ? camera.Project(x) : std::nullopt;
      uv && uv->x() > 0 && uv->y() > 0 && uv->x() < camera.Width() && uv->y() < camera.Height())
    mark = StrCat("<i style=\"left:", Numbered("%.1f", 100 * uv->x() / camera.Width()),
                  "%;top:", Numbered("%.1f", 100 * uv->y() / camera.Height()), "%\"></i>");
  return StrCat("<div class=\"shot\"><img alt=\"frame ", nearest->frame, "\" src=\"data:image/png;base64,",
                EncodeBase64(ReadFile(nearest->image)), "\">", mark, "</div>");
}

void AddSpots(const RunFolder& run, const WallCoverage& coverage, HtmlPage& page) {
  if (coverage.spots.empty()) return;
  const std::vector<RunKeyframe> keyframes = ListRunKeyframes(run);
  page.Heading("Not seen, and where to look again");
  std::string html = "<ol class=\"spots\">\n";
  const size_t count = std::min(kShownSpots, coverage.spots.size());
  for (size_t i = 0; i < count; ++i)
    html += StrCat("<li>", ShotOf(coverage.spots[i], keyframes, *run.depth_camera), "<p><b>", i + 1, ".</b> ",
                   EscapeXml(SpotInWords(coverage.spots[i], coverage)), "</p></li>\n");
  page.Html(html + "</ol>\n");
  if (coverage.spots.size() > count)
    page.Paragraph(StrCat(coverage.spots.size() - count,
                          " smaller ones are numbered in the map; `lumen coverage` lists them all."));
}

}  // namespace

WallCoverage FindRunCoverage(const RunFolder& run, double mm_per_unit) {
  if (!fs::is_regular_file(run.path / run_file::kSurface) || !run.depth_camera) return {};
  try {
    return MeasureRunCoverage(run, {.mm_per_unit = mm_per_unit > 0 ? mm_per_unit : ToldMillimetres(run)},
                              AvailableCores());
  } catch (const InputError&) {
    return {};
  }
}

void AddVerdict(const RunFolder& run, HtmlPage& page) {
  const std::vector<std::string> words = DescribeTrust(run);
  page.Html(kStyle);
  if (words.empty()) return;
  const bool good = MeasureTrust(run).IsGood();
  std::string html = StrCat("<div class=\"verdict", good ? "" : " care", "\"><p><b>",
                            good ? "By its own account this run can be relied on."
                                 : "Take care: parts of this run are not to be relied on.",
                            "</b></p>");
  for (const std::string& sentence : words) html += StrCat("<p>", EscapeXml(sentence), "</p>");
  page.Html(html + "</div>\n");
}

void AddAnswers(const RunFolder& run, const WallCoverage& coverage, HtmlPage& page) {
  const fs::path file = run.path / run_file::kSurface;
  const TriangleMesh surface = fs::is_regular_file(file) ? LoadMesh(file) : TriangleMesh{};
  page.Html(StrCat("<div class=\"tiles\">", TileOfLength(run, coverage), TileOfCoverage(coverage),
                   TileOfSigma(surface, coverage), "</div>\n"));
}

void AddWall(const RunFolder& run, const WallCoverage& coverage, HtmlPage& page) {
  if (coverage.ways.empty()) return;
  page.Heading("The wall laid flat");
  page.Figure(DrawCoverage(coverage),
              StrCat("Along the way from left to right, round it from top to bottom, with the share that was "
                     "seen of each stretch. ",
                     coverage.mm_per_unit > 0
                         ? ""
                         : "Lengths are in widths of the lumen, since millimetres are not known."));
  AddSpots(run, coverage, page);
}

}  // namespace lumen
