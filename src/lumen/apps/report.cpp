#include "lumen/apps/report.h"

#include <algorithm>
#include <cstdio>

#include "lumen/apps/eval_pictures.h"
#include "lumen/apps/report_findings.h"
#include "lumen/apps/turntable.h"
#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/base/parallel.h"
#include "lumen/base/version.h"
#include "lumen/eval/figures.h"
#include "lumen/eval/html.h"
#include "lumen/eval/statistics.h"
#include "lumen/image/colormap.h"
#include "lumen/io/image_file.h"
#include "lumen/io/mesh_file.h"
#include "lumen/io/opencv_codec.h"
#include "lumen/io/png.h"
#include "lumen/io/run_keyframes.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr size_t kCloudPoints = 400000;
constexpr int kJpegQuality = 82;
constexpr const char* kSurface = "surface.ply";

std::string Fixed(double value, int decimals) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}

// A picture inside the page; JPEG where that can be written, since a turntable has many.
std::string ImageSource(const RgbImage& image, bool small) {
  if (small && HaveOpenCv())
    return StrCat("data:image/jpeg;base64,", EncodeBase64(EncodeJpeg(image, kJpegQuality)));
  return StrCat("data:image/png;base64,", EncodeBase64(EncodePng(image)));
}

struct Row {
  const char* key;
  const char* label;
  int decimals;
  const char* unit;
};
constexpr std::array<Row, 12> kSummaryRows = {{
    {"frames", "frames", 0, ""},
    {"placed", "frames placed", 0, ""},
    {"keyframes", "keyframes", 0, ""},
    {"submaps", "separate maps", 0, ""},
    {"lost_events", "times lost", 0, ""},
    {"relocalised", "times found again", 0, ""},
    {"local_loops", "local loops", 0, ""},
    {"global_loops", "global loops", 0, ""},
    {"removed_loops", "loops taken back", 0, ""},
    {"seconds", "time", 1, " s"},
    {"fps", "frames a second", 1, ""},
    {"peak_memory_mb", "peak memory", 0, " MB"},
}};

void AddSummary(const RunFolder& run, HtmlPage& page) {
  std::vector<std::vector<std::string>> rows = {{"the run", ""}};
  for (const Row& row : kSummaryRows) {
    const Json* value = run.summary.Find(row.key);
    if (value == nullptr || !value->IsNumber()) continue;
    rows.push_back({row.label, Fixed(value->AsDouble(), row.decimals) + row.unit});
  }
  if (const Json* stages = run.summary.Find("stages"); stages != nullptr && stages->IsObject()) {
    for (const auto& [stage, times] : stages->AsObject()) {
      const Json* mean = times.Find("mean_ms");
      if (mean != nullptr && mean->IsNumber())
        rows.push_back({StrCat("stage ", stage), Fixed(mean->AsDouble(), 1) + " ms"});
    }
  }
  if (rows.size() < 2) return;
  page.BeginFold("The run in numbers");
  page.Table(rows);
  page.EndFold();
}

// What was reconstructed, to be turned by dragging; without scripts its first view is still there.
void AddTurntable(const RunFolder& run, const ReportOptions& options, HtmlPage& page) {
  const bool fused = fs::is_regular_file(run.path / kSurface);
  const TriangleMesh mesh = fused ? LoadMesh(run.path / kSurface) : MakeRunCloud(run, kCloudPoints);
  const std::vector<RgbImage> pictures = RenderTurntable(mesh, {.views = options.views});
  if (pictures.empty()) return;
  page.Heading(fused ? "The surface" : "The points of all keyframes");
  std::string html = "<figure id=\"turn\" style=\"touch-action:none;cursor:grab\">";
  for (size_t i = 0; i < pictures.size(); ++i)
    html += StrCat("<img draggable=\"false\" alt=\"view ", i + 1, " of ", pictures.size(), "\" width=\"",
                   pictures[i].Width(), "\" height=\"", pictures[i].Height(), "\" style=\"max-width:100%;",
                   "border:1px solid #ddd", i == 0 ? "" : ";display:none", "\" src=\"",
                   ImageSource(pictures[i], true), "\">");
  html += StrCat(
      "<figcaption>", fused ? "The fused surface" : "No surface was fused; these are the depth maps' points",
      ": ", mesh.vertices.size(), fused ? " vertices, " : " points",
      fused ? StrCat(mesh.triangles.size(), " triangles") : "", ". Drag to turn it.</figcaption></figure>\n",
      "<script>(()=>{const box=document.getElementById('turn'),views=[...box.querySelectorAll('img')];",
      "let at=0,from=null,start=0;const show=k=>{views[at].style.display='none';",
      "at=((k%views.length)+views.length)%views.length;views[at].style.display=''};",
      "box.onpointerdown=e=>{from=e.clientX;start=at;box.setPointerCapture(e.pointerId)};",
      "box.onpointermove=e=>{if(from!==null)show(start+Math.round((e.clientX-from)/14))};",
      "box.onpointerup=box.onpointercancel=()=>{from=null}})();</script>\n");
  page.Html(html);
}

std::vector<PoseError> AsPoses(const Trajectory& trajectory) {
  std::vector<PoseError> poses;
  for (const TimedPose& pose : trajectory) {
    PoseError plain;
    plain.time = pose.time;
    plain.estimate = pose.world_from_camera;
    poses.push_back(plain);
  }
  return poses;
}

void AddPath(const RunFolder& run, const std::string& name, HtmlPage& page) {
  if (run.frames.empty() && run.keyframes.empty()) return;
  TrajectoryFigure figure;
  figure.title = StrCat("The camera's path: ", name);
  figure.units = "arbitrary";
  figure.frames = AsPoses(run.frames);
  figure.keyframes = AsPoses(run.keyframes);
  page.Heading("The path");
  page.Figure(DrawTrajectory(figure), "The path in three views of one scale, in the map's own units.");
}

Mask KnownDepth(const DepthImage& depth) {
  Mask known(depth.Width(), depth.Height());
  for (size_t i = 0; i < depth.Size(); ++i) known.Data()[i] = depth.Data()[i] > 0 ? 255 : 0;
  return known;
}

// A frame beside its depth, for keyframes spread evenly over the run.
void AddKeyframes(const RunFolder& run, const ReportOptions& options, HtmlPage& page) {
  if (!run.depth_scale) return;
  std::vector<RunKeyframe> shown;
  for (const RunKeyframe& keyframe : ListRunKeyframes(run))
    if (!keyframe.depth.empty()) shown.push_back(keyframe);
  if (shown.empty()) return;
  page.BeginFold("Keyframes and their depth");
  std::string html =
      "<div style=\"display:grid;grid-template-columns:repeat(auto-fill,minmax(260px,1fr));gap:10px\">";
  const size_t count = std::min(shown.size(), static_cast<size_t>(std::max(1, options.keyframes)));
  for (size_t k = 0; k < count; ++k) {
    const RunKeyframe& keyframe = shown[count > 1 ? k * (shown.size() - 1) / (count - 1) : 0];
    const DepthImage depth = LoadScaledDepth(keyframe.depth, *run.depth_scale);
    std::vector<double> values;
    for (size_t i = 0; i < depth.Size(); ++i)
      if (depth.Data()[i] > 0) values.push_back(depth.Data()[i]);
    const double far = values.empty() ? 1 : Quantile(values, 0.98);
    const std::string style = "style=\"width:49%\"";
    html += "<figure style=\"margin:0\">";
    if (!keyframe.image.empty())
      html += StrCat("<img ", style, " alt=\"\" src=\"", ImageSource(LoadRgb(keyframe.image), false), "\"> ");
    html += StrCat("<img ", style, " alt=\"\" src=\"",
                   ImageSource(ColorMap(depth, 0, far, KnownDepth(depth)), false), "\"><figcaption>frame ",
                   keyframe.frame, ", ", Fixed(keyframe.time, 2), " s; yellow: ", Fixed(far, 2),
                   " and more</figcaption></figure>\n");
  }
  page.Html(html + "</div>\n");
  page.EndFold();
}

std::string NameOf(const fs::path& path) {
  const fs::path whole = fs::absolute(path).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

// The truth that was named, or the run's own input where that has one.
std::optional<Truth> FindTruth(const RunFolder& run, const ReportOptions& options) {
  if (!options.truth.empty()) return LoadTruth(options.truth);
  const Json* input = run.summary.Find(run_key::kInput);
  if (input == nullptr || !input->IsString()) return std::nullopt;
  const fs::path path = input->AsString();
  if (!fs::is_regular_file(path) && !fs::is_directory(path)) return std::nullopt;  // gone, or a camera
  try {
    return LoadTruth(path);
  } catch (const InputError&) {
    return std::nullopt;  // a video without a truth: nothing is wrong with that
  }
}

void AddGrades(const fs::path& path, const Truth& truth, HtmlPage& page) {
  GradingOptions grading_options;
  grading_options.threads = AvailableCores();
  const Estimate estimate = LoadRunEstimate(path);
  const Grading grading = GradeEstimate(estimate, truth, grading_options);
  std::vector<std::vector<std::string>> rows = {{"against the truth", "keyframes"}};
  for (const MetricInfo& metric : AllMetrics()) {
    const auto value = grading.grades.Get(metric.key);
    if (!value) continue;
    const int decimals = std::string(metric.unit) == "count" ? 0 : metric.decimals + 1;
    rows.push_back({MetricTitle(metric, truth.units), Fixed(*value, decimals)});
  }
  page.BeginFold("Against the truth");
  if (rows.size() > 1) page.Table(rows);
  for (const NamedFigure& figure : DrawGrading(grading, estimate, truth, grading_options))
    page.Figure(figure.svg, figure.caption);
  page.EndFold();
}

std::vector<std::string> RemarksOn(const RunFolder& run) {
  std::vector<std::string> remarks = run.notes;
  if (!run.finished) remarks.push_back(DescribeBrokenRun(run) + "; this is what there is");
  if (!run.version.empty() && run.version != Version())
    remarks.push_back(StrCat("run by Lumen ", run.version, ", reported by Lumen ", Version()));
  if (run.keyframes.empty()) remarks.emplace_back("no keyframe was placed");
  if (run.depth.empty()) remarks.emplace_back("there are no depth maps");
  return remarks;
}

}  // namespace

std::string FormatReport(const fs::path& path, const ReportOptions& options) {
  const RunFolder run = ReadRunFolder(path);
  const std::string name = options.name.empty() ? NameOf(path) : Printable(options.name);
  HtmlPage page(StrCat("Lumen: ", name));
  const Json* input = run.summary.Find(run_key::kInput);
  const WallCoverage coverage =
      options.coverage != nullptr ? *options.coverage : FindRunCoverage(run, options.mm_per_unit);
  AddVerdict(run, page);
  if (const auto remarks = RemarksOn(run); !remarks.empty()) page.List(remarks);
  AddAnswers(run, coverage, page);
  AddTurntable(run, options, page);
  AddWall(run, coverage, page);
  AddPath(run, name, page);
  const std::optional<Truth> truth = FindTruth(run, options);
  AddKeyframes(run, options, page);
  if (truth && !run.keyframes.empty()) AddGrades(path, *truth, page);
  AddSummary(run, page);
  page.Paragraph(StrCat(
      "Dense monocular SLAM of ",
      input != nullptr && input->IsString() ? NameOf(input->AsString()) : "a video",
      ". Lengths are in the map's own units unless said otherwise: one camera does not know its scale. "
      "Not a medical device."));
  page.Paragraph(StrCat("Made by Lumen ", Version(), " (", Commit(), ")",
                        run.version.empty() ? "" : StrCat("; run by ", run.version, " (", run.commit, ")"),
                        "."));
  return page.Finish();
}

}  // namespace lumen
