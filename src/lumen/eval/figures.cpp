#include "lumen/eval/figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "lumen/base/random.h"
#include "lumen/base/text.h"
#include "lumen/eval/statistics.h"

namespace lumen {

namespace {

const Stroke kTruthStroke{.color = "#BBBBBB", .width = 5, .dash = {}};
const Stroke kEstimateStroke{.color = kBlue, .width = 1.6, .dash = {}};

std::string TickText(double value, double step) {
  const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(step) - 1e-9)));
  constexpr int most_decimals = 4;  // beyond them numbers run into their neighbours
  char text[40];
  if (decimals > most_decimals && value != 0) {
    std::snprintf(text, sizeof(text), "%.1e", value);
    return text;
  }
  std::snprintf(text, sizeof(text), "%.*f", std::min(decimals, most_decimals), value == 0 ? 0.0 : value);
  return text;
}

Range Widened(Range range, double share) {
  const double extra = std::max(share * (range.high - range.low), 1e-9);
  return {range.low - extra, range.high + extra};
}

// Pieces of a line, broken where frames were not placed.
template <typename Point>
void DrawBroken(Svg& svg, const std::vector<PoseError>& poses, double max_gap, const Stroke& stroke,
                const Point& point) {
  std::vector<Eigen::Vector2d> piece;
  for (size_t i = 0; i < poses.size(); ++i) {
    if (i > 0 && poses[i].time - poses[i - 1].time > max_gap) {
      svg.Polyline(piece, stroke);
      piece.clear();
    }
    piece.push_back(point(poses[i]));
  }
  svg.Polyline(piece, stroke);
}

struct View {
  int x, y;
  const char *x_name, *y_name;
};
constexpr std::array<View, 3> kViews = {{{0, 1, "x", "y"}, {0, 2, "x", "z"}, {2, 1, "z", "y"}}};

struct Bounds {
  Eigen::Vector3d low = Eigen::Vector3d::Constant(std::numeric_limits<double>::infinity());
  Eigen::Vector3d high = -low;
  void Add(const Eigen::Vector3d& x) {
    low = low.cwiseMin(x);
    high = high.cwiseMax(x);
  }
};

Bounds FindBounds(const TrajectoryFigure& figure) {
  Bounds bounds;
  for (const Eigen::Vector3d& x : figure.truth) bounds.Add(x);
  for (const auto* poses : {&figure.frames, &figure.keyframes})
    for (const PoseError& pose : *poses) bounds.Add(pose.estimate.Translation());
  if (!(bounds.low.x() <= bounds.high.x())) bounds = {Eigen::Vector3d::Zero(), Eigen::Vector3d::Ones()};
  return bounds;
}

void DrawView(Svg& svg, const TrajectoryFigure& figure, const PlotArea& area, const View& view) {
  const auto at = [&](const Eigen::Vector3d& x) { return area.At(x[view.x], x[view.y]); };
  std::vector<Eigen::Vector2d> truth;
  for (const Eigen::Vector3d& x : figure.truth) truth.push_back(at(x));
  svg.Polyline(truth, kTruthStroke);
  DrawBroken(svg, figure.frames, figure.max_gap_seconds, kEstimateStroke,
             [&](const PoseError& pose) { return at(pose.estimate.Translation()); });
  for (const PoseError& pose : figure.keyframes)
    svg.Marker(at(pose.estimate.Translation()), MarkerShape::kCircle, 4, kVermillion);
  if (truth.empty()) return;
  svg.Marker(truth.front(), MarkerShape::kTriangle, 10, "#FFFFFF", {.color = kBlack, .width = 1.5});
  svg.Marker(truth.back(), MarkerShape::kSquare, 8, "#FFFFFF", {.color = kBlack, .width = 1.5});
}

// Entries of a legend from left to right; returns where the next one starts.
double LegendLine(Svg& svg, double x, double y, const Stroke& stroke, const std::string& text) {
  svg.Line({x, y - 4}, {x + 26, y - 4}, stroke);
  svg.Text({x + 32, y}, text, {.size = 12});
  return x + 48 + 6.8 * static_cast<double>(text.size());
}
double LegendMarker(Svg& svg, double x, double y, MarkerShape shape, double size, const std::string& fill,
                    const Stroke& stroke, const std::string& text) {
  svg.Marker({x + 6, y - 4}, shape, size, fill, stroke);
  svg.Text({x + 16, y}, text, {.size = 12});
  return x + 32 + 6.8 * static_cast<double>(text.size());
}

std::string LengthTitle(const std::string& name, const std::string& units) {
  return StrCat(name, " (", units == "arbitrary" ? "arb. units" : units, ")");
}

double LargestError(const ErrorFigure& figure, double PoseError::*error) {
  double largest = 0;
  for (const auto* poses : {&figure.frames, &figure.keyframes})
    for (const PoseError& pose : *poses) largest = std::max(largest, pose.*error);
  return largest > 0 ? largest : 1;
}

void DrawMarks(Svg& svg, const ErrorFigure& figure, const PlotArea& area) {
  const Box& box = area.GetBox();
  for (const Range& span : figure.lost) {
    const double x1 = area.At(span.low, 0).x();
    const double x2 = std::max(area.At(span.high, 0).x(), x1 + 2);
    svg.Rect({x1, box.y, x2 - x1, box.height}, kOrange, {.color = "none"}, 0.3);
  }
  for (const LoopMark& loop : figure.loops) {
    const double x = area.At(loop.time, 0).x();
    if (loop.global) {
      svg.Line({x, box.y}, {x, box.y + box.height},
               {.color = loop.removed ? kGrey : kGreen, .width = 1.2, .dash = loop.removed ? "2 3" : "6 3"});
    } else {
      svg.Line({x, box.y}, {x, box.y + 7}, {.color = kPurple, .width = 1.2});
    }
  }
}

void DrawErrorPanel(Svg& svg, const ErrorFigure& figure, const PlotArea& area, double PoseError::*error) {
  DrawMarks(svg, figure, area);
  const auto at = [&](const PoseError& pose) { return area.At(pose.time, pose.*error); };
  DrawBroken(svg, figure.frames, figure.max_gap_seconds, kEstimateStroke, at);
  for (const PoseError& pose : figure.keyframes) svg.Marker(at(pose), MarkerShape::kCircle, 4.5, kVermillion);
}

void DrawErrorLegend(Svg& svg, const ErrorFigure& figure, double x, double y) {
  if (!figure.frames.empty()) x = LegendLine(svg, x, y, kEstimateStroke, "placed frames");
  x = LegendMarker(svg, x, y, MarkerShape::kCircle, 6, kVermillion, {.color = "none"}, "keyframes");
  const auto any = [&](bool global, bool removed) {
    return std::any_of(figure.loops.begin(), figure.loops.end(), [&](const LoopMark& loop) {
      return loop.global == global && (!global || loop.removed == removed);
    });
  };
  if (any(true, false))
    x = LegendLine(svg, x, y, {.color = kGreen, .width = 1.2, .dash = "6 3"}, "global loop");
  if (any(true, true))
    x = LegendLine(svg, x, y, {.color = kGrey, .width = 1.2, .dash = "2 3"}, "loop taken back");
  if (any(false, false))
    x = LegendLine(svg, x, y, {.color = kPurple, .width = 1.2, .dash = {}}, "local loop");
  if (!figure.lost.empty()) {
    svg.Rect({x, y - 11, 20, 13}, kOrange, {.color = "none"}, 0.3);
    svg.Text({x + 26, y}, "lost", {.size = 12});
  }
}

Range PanelRange(const BoxPanel& panel) {
  Range range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const std::vector<double>& values : panel.values) {
    for (const double value : values) range = {std::min(range.low, value), std::max(range.high, value)};
  }
  if (!(range.low <= range.high)) return {0, 1};
  if (range.low >= 0 && range.low < 0.5 * range.high) range.low = 0;  // errors start at none
  if (range.low == range.high) return {range.low - 0.5, range.high + 0.5};
  const double extra = 0.06 * (range.high - range.low);
  return {range.low == 0 ? 0 : range.low - extra, range.high + extra};
}

void DrawBox(Svg& svg, const PlotArea& area, double x, size_t variant, const std::vector<double>& values) {
  constexpr double half_width = 0.3;
  const BoxSummary box = SummariseBox(values);
  const Stroke stroke{.color = SeriesColor(variant), .width = 1.6, .dash = {}};
  const Eigen::Vector2d top = area.At(x - half_width, box.high_quartile);
  const Eigen::Vector2d bottom = area.At(x + half_width, box.low_quartile);
  svg.Line(area.At(x, box.low_whisker), area.At(x, box.low_quartile), stroke);
  svg.Line(area.At(x, box.high_quartile), area.At(x, box.high_whisker), stroke);
  svg.Line(area.At(x - half_width / 2, box.low_whisker), area.At(x + half_width / 2, box.low_whisker),
           stroke);
  svg.Line(area.At(x - half_width / 2, box.high_whisker), area.At(x + half_width / 2, box.high_whisker),
           stroke);
  svg.Rect({top.x(), top.y(), bottom.x() - top.x(), bottom.y() - top.y()}, "#FFFFFF", stroke);
  svg.Line(area.At(x - half_width, box.median), area.At(x + half_width, box.median),
           {.color = kBlack, .width = 2.4, .dash = {}});
  Random random(variant + 1);  // dots beside one another, the same each time
  for (const double value : values)
    svg.Marker(area.At(x + random.Uniform(-0.16, 0.16), value), MarkerShape::kCircle, 3.6,
               SeriesColor(variant), {.color = "#FFFFFF", .width = 0.5});
}

void DrawBoxPanel(Svg& svg, const BoxPanel& panel, const Box& box) {
  const PlotArea area(box, {0.4, static_cast<double>(panel.values.size()) + 0.6}, PanelRange(panel));
  area.DrawAxes(svg, "", "", false);
  svg.Text({box.x, box.y - 8}, panel.title, {.size = 12.5, .bold = true});
  for (size_t k = 0; k < panel.values.size(); ++k) {
    const double x = static_cast<double>(k) + 1;
    if (!panel.values[k].empty()) DrawBox(svg, area, x, k, panel.values[k]);
    svg.Text({area.At(x, 0).x(), box.y + box.height + 16}, StrCat(k + 1), {.size = 11, .anchor = "middle"});
  }
}

}  // namespace

std::vector<double> NiceTicks(const Range& range, int about) {
  const double raw = (range.high - range.low) / std::max(about, 1);
  if (!(raw > 0) || !std::isfinite(raw)) return {range.low};
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power < raw * (1 - 1e-9)) continue;
    step = factor * power;
    break;
  }
  std::vector<double> ticks;
  for (double k = std::ceil(range.low / step - 1e-9); k * step <= range.high + 1e-9 * step; ++k)
    ticks.push_back(k * step);
  return ticks;
}

Eigen::Vector2d PlotArea::At(double x, double y) const {
  return {box_.x + box_.width * (x - x_.low) / (x_.high - x_.low),
          box_.y + box_.height * (y_.high - y) / (y_.high - y_.low)};
}

void PlotArea::DrawAxes(Svg& svg, const std::string& x_title, const std::string& y_title,
                        bool x_ticks) const {
  const Stroke faint{.color = "#E6E6E6", .width = 1, .dash = {}};
  const double bottom = box_.y + box_.height;
  const auto step = [](const std::vector<double>& ticks) {
    return ticks.size() > 1 ? ticks[1] - ticks[0] : 1.0;
  };
  if (x_ticks) {
    const std::vector<double> ticks = NiceTicks(x_, std::max(2, static_cast<int>(box_.width / 70)));
    for (const double tick : ticks) {
      const double x = At(tick, y_.low).x();
      svg.Line({x, box_.y}, {x, bottom}, faint);
      svg.Text({x, bottom + 16}, TickText(tick, step(ticks)), {.size = 11, .anchor = "middle"});
    }
  }
  const std::vector<double> ticks = NiceTicks(y_, std::max(2, static_cast<int>(box_.height / 40)));
  for (const double tick : ticks) {
    const double y = At(x_.low, tick).y();
    svg.Line({box_.x, y}, {box_.x + box_.width, y}, faint);
    svg.Text({box_.x - 6, y + 4}, TickText(tick, step(ticks)), {.size = 11, .anchor = "end"});
  }
  svg.Rect(box_, "none", {.color = "#666666", .width = 1, .dash = {}});
  if (!x_title.empty())
    svg.Text({box_.x + box_.width / 2, bottom + 34}, x_title, {.size = 12, .anchor = "middle"});
  if (!y_title.empty()) {
    svg.Text({box_.x - 44, box_.y + box_.height / 2}, y_title,
             {.size = 12, .anchor = "middle", .degrees = -90});
  }
}

std::string DrawTrajectory(const TrajectoryFigure& figure) {
  constexpr double panel_size = 270, left_margin = 62, top_margin = 64, gap = 74;
  Svg svg(left_margin + 3 * panel_size + 2 * gap + 20, top_margin + panel_size + 52);
  svg.Text({left_margin, 24}, figure.title, {.size = 15, .bold = true});
  double x = LegendLine(svg, left_margin, 48, kTruthStroke, "truth");
  if (!figure.frames.empty()) x = LegendLine(svg, x, 48, kEstimateStroke, "estimate, aligned");
  x = LegendMarker(svg, x, 48, MarkerShape::kCircle, 6, kVermillion, {.color = "none"}, "keyframes");
  const Stroke outline{.color = kBlack, .width = 1.5, .dash = {}};
  x = LegendMarker(svg, x, 48, MarkerShape::kTriangle, 10, "#FFFFFF", outline, "start");
  LegendMarker(svg, x, 48, MarkerShape::kSquare, 8, "#FFFFFF", outline, "end");

  const Bounds bounds = FindBounds(figure);
  const Eigen::Vector3d centre = (bounds.low + bounds.high) / 2;
  const double half = std::max(1e-9, 0.55 * (bounds.high - bounds.low).maxCoeff());
  for (size_t k = 0; k < kViews.size(); ++k) {
    const View& view = kViews[k];
    const PlotArea area(
        {left_margin + static_cast<double>(k) * (panel_size + gap), top_margin, panel_size, panel_size},
        {centre[view.x] - half, centre[view.x] + half}, {centre[view.y] - half, centre[view.y] + half});
    area.DrawAxes(svg, LengthTitle(view.x_name, figure.units), LengthTitle(view.y_name, figure.units));
    DrawView(svg, figure, area, view);
  }
  return svg.Finish();
}

std::string DrawErrors(const ErrorFigure& figure) {
  constexpr double left_margin = 66, top_margin = 64, plot_width = 850, plot_height = 150, gap = 26;
  Svg svg(left_margin + plot_width + 20, top_margin + 2 * plot_height + gap + 52);
  svg.Text({left_margin, 24}, figure.title, {.size = 15, .bold = true});
  DrawErrorLegend(svg, figure, left_margin, 48);
  struct Panel {
    double PoseError::*error;
    std::string title;
  };
  const std::array<Panel, 2> panels = {{{&PoseError::translation, LengthTitle("translation", figure.units)},
                                        {&PoseError::rotation_degrees, "rotation (°)"}}};
  const Range time = figure.time.high > figure.time.low ? figure.time : Widened(figure.time, 0.5);
  for (size_t k = 0; k < panels.size(); ++k) {
    const PlotArea area(
        {left_margin, top_margin + static_cast<double>(k) * (plot_height + gap), plot_width, plot_height},
        time, {0, 1.08 * LargestError(figure, panels[k].error)});
    area.DrawAxes(svg, k == 1 ? "time (s)" : "", panels[k].title);
    DrawErrorPanel(svg, figure, area, panels[k].error);
  }
  return svg.Finish();
}

std::string DrawBoxes(const BoxFigure& figure) {
  constexpr int most_columns = 4;
  constexpr double panel_height = 180, left_margin = 52, top_margin = 66, gap_x = 62, gap_y = 58;
  const auto variants = static_cast<double>(figure.variants.size());
  const double panel_width = std::clamp(34 * variants, 200.0, 330.0);
  const int panels = static_cast<int>(figure.panels.size());
  const int columns = std::min(most_columns, std::max(panels, 1));
  const int rows = (panels + columns - 1) / columns;
  const double legend = top_margin + rows * (panel_height + gap_y) + 4;
  double longest = 8 * static_cast<double>(figure.title.size());
  for (const std::string& name : figure.variants)
    longest = std::max(longest, 30 + 6.8 * static_cast<double>(name.size()));
  Svg svg(std::max(left_margin + columns * (panel_width + gap_x), left_margin + longest + 20),
          legend + 18 * variants);
  svg.Text({left_margin, 26}, figure.title, {.size = 15, .bold = true});
  for (int i = 0; i < panels; ++i) {
    const int row = i / columns;
    DrawBoxPanel(svg, figure.panels[static_cast<size_t>(i)],
                 {left_margin + i % columns * (panel_width + gap_x),
                  top_margin + row * (panel_height + gap_y), panel_width, panel_height});
  }
  for (size_t k = 0; k < figure.variants.size(); ++k) {
    const double y = legend + 18 * static_cast<double>(k);
    svg.Rect({left_margin, y - 10, 12, 12}, SeriesColor(k));
    svg.Text({left_margin + 20, y}, StrCat(k + 1, "   ", figure.variants[k]), {.size = 12.5});
  }
  return svg.Finish();
}

}  // namespace lumen
