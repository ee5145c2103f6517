// A camera from views of a checkerboard: finding the board, fitting a model to its corners, and saying how
// far the fit can be trusted. The finding and fitting is OpenCV's (see opencv_codec.h).
#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "lumen/geometry/camera.h"
#include "lumen/io/frame_source.h"

namespace lumen {

struct Board {
  int columns = 9, rows = 6;  // inner corners, where four squares meet
  double square_mm = 10;
};
// "9x6"; throws InputError for anything else.
Board ParseBoard(const std::string& text, double square_mm);

// The corners of the board in one picture, row by row.
struct BoardView {
  int64_t frame = 0;
  std::vector<Eigen::Vector2d> corners;
};
std::optional<BoardView> FindBoard(const RawFrame& frame, const Board& board);

struct CameraFitOptions {
  std::string model = "auto";  // "pinhole", "radtan", "kannala_brandt"; auto: whichever explains the corners
  int width = 0, height = 0;
};

struct CameraFit {
  Camera camera;
  double rms = 0;                                       // pixels, over all corners
  std::vector<double> view_rms;                         // per view
  std::vector<std::vector<Eigen::Vector2d>> residuals;  // per view and corner, measured − predicted
  double max_tilt_degrees = 0;                          // of the board against the picture
};
// Nothing where the views do not determine a camera.
std::optional<CameraFit> FitCamera(const std::vector<BoardView>& views, const Board& board,
                                   const CameraFitOptions& options);

// How much of the picture the corners reached, on a grid of cells.
inline constexpr int kCoverageColumns = 8, kCoverageRows = 6;
struct Coverage {
  std::vector<int> counts;  // corners per cell, row by row
  double share = 0;         // of the cells that hold any
};
Coverage ComputeCoverage(const std::vector<BoardView>& views, int width, int height);

// What is wrong with a calibration, in words; empty if it is good.
std::vector<std::string> JudgeCalibration(const CameraFit& fit, const Coverage& coverage, size_t views);

// As OpenCV writes and LoadCalibration reads them; comments go to the head of the file.
std::string FormatOpenCvCalibration(const Camera& camera, const std::vector<std::string>& comments);

}  // namespace lumen
