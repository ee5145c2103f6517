#include "lumen/eval/reliability_figure.h"

#include "lumen/eval/figures.h"

namespace lumen {

namespace {

constexpr double kSide = 220, kGap = 70, kLeft = 60, kTop = 70;
constexpr double kLine = 16;  // of the legend

void DrawPanel(Svg& svg, const ReliabilityPanel& panel, const Box& box) {
  static const std::array<const char*, 3> kDashes = {"", "5 3", "2 2"};
  const PlotArea area(box, {0, 100}, {0, 100});
  svg.Text({box.x, box.y - 10}, panel.title, {.size = 13, .bold = true});
  area.DrawAxes(svg, "should be within (%)", "is within (%)");
  svg.Line(area.At(0, 0), area.At(100, 100), {.color = kGrey, .width = 1.5});
  for (size_t k = 0; k < panel.curves.size(); ++k) {
    const Stroke stroke{.color = SeriesColor(k % 3), .width = 1.8, .dash = kDashes[k / 3 % kDashes.size()]};
    std::vector<Eigen::Vector2d> points = {area.At(0, 0)};
    for (size_t i = 0; i < panel.curves[k].shares.size(); ++i)
      points.push_back(area.At(10 * static_cast<double>(i + 1), 100 * panel.curves[k].shares[i]));
    svg.Polyline(points, stroke);
    const double y = box.y + box.height + 50 + kLine * static_cast<double>(k);
    svg.Line({box.x, y - 4}, {box.x + 26, y - 4}, stroke);
    svg.Text({box.x + 34, y}, panel.curves[k].name, {.size = 12});
  }
}

}  // namespace

std::string DrawReliability(const std::string& title, const std::vector<ReliabilityPanel>& panels) {
  size_t most = 0;
  for (const ReliabilityPanel& panel : panels) most = std::max(most, panel.curves.size());
  Svg svg(kLeft + static_cast<double>(panels.size()) * (kSide + kGap),
          kTop + kSide + 60 + kLine * static_cast<double>(most));
  svg.Text({kLeft, 26}, title, {.size = 15, .bold = true});
  for (size_t i = 0; i < panels.size(); ++i)
    DrawPanel(svg, panels[i], {kLeft + static_cast<double>(i) * (kSide + kGap), kTop, kSide, kSide});
  return svg.Finish();
}

}  // namespace lumen
