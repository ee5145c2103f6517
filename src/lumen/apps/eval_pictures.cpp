#include "lumen/apps/eval_pictures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "lumen/base/text.h"
#include "lumen/eval/figures.h"
#include "lumen/eval/html.h"
#include "lumen/eval/statistics.h"
#include "lumen/image/colormap.h"
#include "lumen/io/png.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr double kErrorTop = 0.5;  // relative error that is yellow
constexpr size_t kMapsShown = 6;

std::string Short(double value, int decimals) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}

// Spans of frames that were lost or skipped, one after the other.
std::vector<Range> LostSpans(const std::vector<RunFrameEvent>& events) {
  std::vector<Range> spans;
  bool open = false;
  for (const RunFrameEvent& event : events) {
    const bool lost = event.status == FrameStatus::kLost || event.status == FrameStatus::kSkipped;
    if (lost && !open) spans.push_back({event.time, event.time});
    if (lost) spans.back().high = event.time;
    open = lost;
  }
  return spans;
}

std::vector<LoopMark> LoopMarks(const Estimate& estimate, double fps) {
  std::vector<LoopMark> marks;
  for (const RunLoop& loop : estimate.loops) {
    const int64_t frame = std::max(loop.from, loop.to);
    marks.push_back({static_cast<double>(frame) / fps, loop.kind == "global", loop.removed});
  }
  return marks;
}

std::vector<PoseError> PlacedFrames(const Grading& grading, const Estimate& estimate, const Truth& truth,
                                    double max_gap) {
  return ComputePoseErrors(estimate.frames, truth.trajectory, grading.keyframes.truth_from_estimate, max_gap);
}

NamedFigure MakePathFigure(const Grading& grading, const Estimate& estimate, const Truth& truth,
                           const GradingOptions& options) {
  TrajectoryFigure figure;
  figure.title = StrCat(estimate.name, " on ", truth.name);
  figure.units = truth.units;
  for (const TimedPose& pose : truth.trajectory) figure.truth.push_back(pose.world_from_camera.Translation());
  figure.frames = PlacedFrames(grading, estimate, truth, options.max_time_gap);
  figure.keyframes = grading.keyframes.poses;
  return {"trajectory", "The aligned path in three views of one scale, against the truth.",
          DrawTrajectory(figure)};
}

NamedFigure MakeErrorFigure(const Grading& grading, const Estimate& estimate, const Truth& truth,
                            const GradingOptions& options) {
  ErrorFigure figure;
  figure.title = StrCat("Error over time: ", estimate.name, " on ", truth.name);
  figure.units = truth.units;
  figure.time = {truth.trajectory.front().time, truth.trajectory.back().time};
  figure.frames = PlacedFrames(grading, estimate, truth, options.max_time_gap);
  figure.keyframes = grading.keyframes.poses;
  figure.lost = LostSpans(estimate.events);
  figure.loops = LoopMarks(estimate, truth.fps);
  return {"errors", "Error of each placed frame in the keyframes' alignment, with loops and lost spans.",
          DrawErrors(figure)};
}

// Everything that is shown of one depth map.
struct MapPictures {
  DepthMapGrade grade;
  DepthImage estimate, truth, error;  // on the estimate's grid; the estimate in the frame's own scale
  Mask known;                         // where both are
  std::string image;                  // PNG of the frame; empty if there is none
};

std::optional<MapPictures> LoadMapPictures(const DepthMapGrade& grade, const Estimate& estimate,
                                           const Truth& truth) {
  const auto file = std::find_if(estimate.depth.begin(), estimate.depth.end(),
                                 [&](const RunDepthFile& f) { return f.frame == grade.frame; });
  const auto true_map = truth.source->LoadDepth(grade.frame);
  if (file == estimate.depth.end() || !true_map) return std::nullopt;
  MapPictures pictures;
  pictures.grade = grade;
  pictures.estimate = LoadScaledDepth(file->path, *estimate.depth_scale);
  const SamplerChoice choice = MakeTruthSampler(estimate, truth, pictures.estimate, *true_map);
  if (!choice.sampler) return std::nullopt;
  pictures.truth = choice.sampler->Sample(*true_map);
  pictures.error = DepthImage(pictures.truth.Width(), pictures.truth.Height());
  pictures.known = Mask(pictures.truth.Width(), pictures.truth.Height());
  for (size_t i = 0; i < pictures.truth.Size(); ++i) {
    float& depth = pictures.estimate.Data()[i];
    const float expected = pictures.truth.Data()[i];
    depth *= static_cast<float>(grade.frame_scale);
    if (!(depth > 0) || !(expected > 0)) continue;
    pictures.known.Data()[i] = 255;
    pictures.error.Data()[i] = std::abs(depth - expected) / expected;
  }
  const fs::path image = truth.path / "rgb" / RunDepthName(grade.frame);
  if (fs::exists(image)) pictures.image = EncodePng(LoadPng8(image));
  return pictures;
}

// A bar of the colour map with its ends named.
void DrawColorBar(Svg& svg, const Box& box, const std::string& low, const std::string& high) {
  RgbImage bar(64, 1, 3);
  for (int x = 0; x < 64; ++x) {
    const auto color = MapColor(x / 63.0);
    std::copy(color.begin(), color.end(), bar.Pixel(x, 0));
  }
  svg.Image(box, EncodePng(bar));
  svg.Text({box.x, box.y + box.height + 13}, low, {.size = 11});
  svg.Text({box.x + box.width, box.y + box.height + 13}, high, {.size = 11, .anchor = "end"});
}

Range DepthRange(const std::vector<MapPictures>& rows) {
  std::vector<double> depths;
  for (const MapPictures& row : rows) {
    for (size_t i = 0; i < row.truth.Size(); ++i)
      if (row.truth.Data()[i] > 0) depths.push_back(row.truth.Data()[i]);
  }
  return {0, depths.empty() ? 1 : Quantile(depths, 0.98)};
}

void DrawMapRow(Svg& svg, const MapPictures& row, const Box& first, const Range& depth) {
  Box box = first;
  const auto place = [&](const std::string& png) {
    if (!png.empty()) svg.Image(box, png);
    box.x += box.width + 10;
  };
  Mask true_known(row.truth.Width(), row.truth.Height()), known(row.truth.Width(), row.truth.Height());
  for (size_t i = 0; i < row.truth.Size(); ++i) {
    true_known.Data()[i] = row.truth.Data()[i] > 0 ? 255 : 0;
    known.Data()[i] = row.estimate.Data()[i] > 0 ? 255 : 0;
  }
  place(row.image);
  place(EncodePng(ColorMap(row.truth, depth.low, depth.high, true_known)));
  place(EncodePng(ColorMap(row.estimate, depth.low, depth.high, known)));
  place(EncodePng(ColorMap(row.error, 0, kErrorTop, row.known)));
  const double x = first.x - 12;
  const double y = first.y + first.height / 2;
  svg.Text({x, y - 14}, StrCat("frame ", row.grade.frame), {.size = 12, .anchor = "end", .bold = true});
  svg.Text({x, y + 4}, StrCat("ARD ", Short(row.grade.by_frame.ard, 3)), {.size = 12, .anchor = "end"});
  svg.Text({x, y + 22}, StrCat("< 1.25: ", Short(100 * row.grade.by_frame.within[0], 1), " %"),
           {.size = 12, .anchor = "end"});
}

std::optional<NamedFigure> MakeDepthFigure(const Grading& grading, const Estimate& estimate,
                                           const Truth& truth) {
  std::vector<MapPictures> rows;
  const size_t shown = std::min(kMapsShown, grading.maps.size());
  for (size_t k = 0; k < shown; ++k) {  // spread evenly over the run, first and last among them
    const size_t at = shown > 1 ? k * (grading.maps.size() - 1) / (shown - 1) : 0;
    if (auto row = LoadMapPictures(grading.maps[at], estimate, truth)) rows.push_back(std::move(*row));
  }
  if (rows.empty()) return std::nullopt;
  constexpr double left_margin = 120, top_margin = 92, plot_width = 200, gap = 10;
  const double height = plot_width * rows[0].truth.Height() / rows[0].truth.Width();
  Svg svg(left_margin + 4 * (plot_width + gap) + 6,
          top_margin + static_cast<double>(rows.size()) * (height + gap));
  svg.Text({left_margin, 24}, StrCat("Depth of keyframes: ", estimate.name, " on ", truth.name),
           {.size = 15, .bold = true});
  const Range depth = DepthRange(rows);
  const std::string unit = truth.units == "arbitrary" ? "" : " " + truth.units;
  const std::array<const char*, 4> titles = {"image", "true depth", "estimate, median-scaled",
                                             "relative error"};
  for (size_t k = 0; k < titles.size(); ++k) {
    const double x = left_margin + static_cast<double>(k) * (plot_width + gap);
    svg.Text({x, 48}, titles[k], {.size = 12.5});
    if (k == 1 || k == 2) DrawColorBar(svg, {x, 56, plot_width, 9}, "0", Short(depth.high, 0) + unit);
    if (k == 3) DrawColorBar(svg, {x, 56, plot_width, 9}, "0", "≥ 50 %");
  }
  for (size_t k = 0; k < rows.size(); ++k)
    DrawMapRow(svg, rows[k],
               {left_margin, top_margin + static_cast<double>(k) * (height + gap), plot_width, height},
               depth);
  return NamedFigure{"depth", "Keyframes spread over the run; black: unknown.", svg.Finish()};
}

}  // namespace

std::vector<NamedFigure> DrawGrading(const Grading& grading, const Estimate& estimate, const Truth& truth,
                                     const GradingOptions& options) {
  std::vector<NamedFigure> figures;
  if (grading.keyframes.status == TrajectoryStatus::kGood) {
    figures.push_back(MakePathFigure(grading, estimate, truth, options));
    figures.push_back(MakeErrorFigure(grading, estimate, truth, options));
  }
  if (auto depth = MakeDepthFigure(grading, estimate, truth)) figures.push_back(std::move(*depth));
  return figures;
}

std::string FormatGradingPage(const Grading& grading, const Estimate& estimate, const Truth& truth,
                              const std::vector<NamedFigure>& figures) {
  HtmlPage page(StrCat(estimate.name, " on ", truth.name));
  std::vector<std::vector<std::string>> rows = {{"metric", "keyframes"}};
  if (grading.all_frames) rows[0].emplace_back("all placed frames");
  const auto text = [](const Grades& grades, const MetricInfo& metric) -> std::string {
    const auto value = grades.Get(metric.key);
    const int decimals = std::string(metric.unit) == "count" ? 0 : metric.decimals + 1;
    return value ? Short(*value, decimals) : "–";
  };
  for (const MetricInfo& metric : AllMetrics()) {
    if (!grading.grades.Get(metric.key) && grading.grades.WhyAbsent(metric.key).empty()) continue;
    rows.push_back({MetricTitle(metric, truth.units), text(grading.grades, metric)});
    if (grading.all_frames) rows.back().push_back(text(*grading.all_frames, metric));
  }
  page.Table(rows);
  std::vector<std::string> remarks = grading.notes;
  for (const auto& [key, reason] : grading.grades.Absent()) remarks.push_back(StrCat(key, ": ", reason));
  if (!remarks.empty()) page.List(remarks);
  for (const NamedFigure& figure : figures) page.Figure(figure.svg, figure.caption);
  if (!estimate.version.empty()) page.Paragraph(StrCat("Run by Lumen ", estimate.version, "."));
  return page.Finish();
}

}  // namespace lumen
