// The figures of a report, each a whole SVG document: readable in print (shapes and dashes besides colours)
// and by colour-blind people.
#pragma once

#include <string>
#include <vector>

#include "lumen/eval/svg.h"
#include "lumen/eval/trajectory_error.h"

namespace lumen {

struct Range {
  double low = 0, high = 1;
};

// Round numbers (1, 2, 5 times a power of ten) in the range, about as many as asked for.
std::vector<double> NiceTicks(const Range& range, int about);

// Two axes in a box of the drawing.
class PlotArea {
 public:
  PlotArea(const Box& box, const Range& x, const Range& y) : box_(box), x_(x), y_(y) {}
  const Box& GetBox() const { return box_; }
  Eigen::Vector2d At(double x, double y) const;
  // Frame, ticks with their numbers, faint lines across, and the axes' titles.
  void DrawAxes(Svg& svg, const std::string& x_title, const std::string& y_title, bool x_ticks = true) const;

 private:
  Box box_;
  Range x_, y_;
};

// The path in three views of one scale, against the truth.
struct TrajectoryFigure {
  std::string title;
  std::string units;
  std::vector<Eigen::Vector3d> truth;  // all of it; empty: not known
  std::vector<PoseError> frames;       // placed, in order; gaps in time are gaps in the line
  std::vector<PoseError> keyframes;
  double max_gap_seconds = 0.25;  // between frames that are still joined
};
std::string DrawTrajectory(const TrajectoryFigure& figure);

// Errors over time, with loops and lost spans.
struct LoopMark {
  double time = 0;
  bool global = false;
  bool removed = false;
};
struct ErrorFigure {
  std::string title;
  std::string units;
  Range time;
  std::vector<PoseError> frames;
  std::vector<PoseError> keyframes;
  std::vector<Range> lost;  // seconds
  std::vector<LoopMark> loops;
  double max_gap_seconds = 0.25;
};
std::string DrawErrors(const ErrorFigure& figure);

// Box plots: one panel a metric, one box a variant, one dot a subject.
struct BoxPanel {
  std::string title;
  std::vector<std::vector<double>> values;  // per variant; may be empty
};
struct BoxFigure {
  std::string title;
  std::vector<std::string> variants;
  std::vector<BoxPanel> panels;
};
std::string DrawBoxes(const BoxFigure& figure);

}  // namespace lumen
