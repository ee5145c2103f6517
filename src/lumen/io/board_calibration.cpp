#include "lumen/io/board_calibration.h"

#include <algorithm>
#include <cmath>

#include "lumen/base/error.h"
#include "lumen/base/text.h"

namespace lumen {

namespace {

constexpr size_t kFewViews = 8;
constexpr double kPoorCoverage = 0.6;
constexpr double kPoorTilt = 15;
constexpr double kPoorRms = 1.0;

std::string Numbers(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += (text.empty() ? "" : ", ") + FormatDouble(value);
  return text;
}

std::string Matrix(const char* name, int rows, int columns, const std::vector<double>& values) {
  return StrCat(name, ": !!opencv-matrix\n   rows: ", rows, "\n   cols: ", columns, "\n   dt: d\n   data: [ ",
                Numbers(values), " ]\n");
}

struct ModelNumbers {
  PinholeCamera pinhole;
  std::vector<double> distortion;
};
ModelNumbers NumbersOf(const PinholeCamera& camera) { return {camera, {0, 0, 0, 0, 0}}; }
ModelNumbers NumbersOf(const RadTanCamera& camera) {
  return {camera.pinhole, {camera.distortion.begin(), camera.distortion.end()}};
}
ModelNumbers NumbersOf(const KannalaBrandtCamera& camera) {
  return {camera.pinhole, {camera.distortion.begin(), camera.distortion.end()}};
}
ModelNumbers NumbersOf(const OmniCamera& /*camera*/) {
  throw InputError("an omnidirectional camera cannot be written as OpenCV YAML");
}

ModelNumbers NumbersOf(const UnifiedCamera& /*camera*/) {
  throw InputError("a unified camera cannot be written as OpenCV YAML");
}

}  // namespace

Board ParseBoard(const std::string& text, double square_mm) {
  const std::vector<std::string> parts = Split(ToLower(text), 'x');
  const auto columns = parts.size() == 2 ? ParseInteger(parts[0]) : std::nullopt;
  const auto rows = parts.size() == 2 ? ParseInteger(parts[1]) : std::nullopt;
  if (!columns || !rows || *columns < 3 || *rows < 3 || *columns > 50 || *rows > 50) {
    throw InputError(
        StrCat("board \"", text,
               "\": expected COLUMNSxROWS of inner corners, where four squares meet, each from 3 "
               "to 50 (a board of 10 by 7 squares is 9x6)"));
  }
  if (!(square_mm > 0)) throw InputError("the side of a square must be positive");
  return {static_cast<int>(*columns), static_cast<int>(*rows), square_mm};
}

Coverage ComputeCoverage(const std::vector<BoardView>& views, int width, int height) {
  Coverage coverage;
  coverage.counts.assign(static_cast<size_t>(kCoverageColumns) * kCoverageRows, 0);
  for (const BoardView& view : views) {
    for (const Eigen::Vector2d& uv : view.corners) {
      const int x =
          std::clamp(static_cast<int>((uv.x() + 0.5) / width * kCoverageColumns), 0, kCoverageColumns - 1);
      const int y =
          std::clamp(static_cast<int>((uv.y() + 0.5) / height * kCoverageRows), 0, kCoverageRows - 1);
      ++coverage.counts[static_cast<size_t>(y) * kCoverageColumns + static_cast<size_t>(x)];
    }
  }
  const auto reached =
      std::count_if(coverage.counts.begin(), coverage.counts.end(), [](int n) { return n > 0; });
  coverage.share = static_cast<double>(reached) / static_cast<double>(coverage.counts.size());
  return coverage;
}

std::vector<std::string> JudgeCalibration(const CameraFit& fit, const Coverage& coverage, size_t views) {
  std::vector<std::string> faults;
  if (views < kFewViews)
    faults.push_back(StrCat("few views: ", views, " show the board; ", kFewViews, " or more are wanted"));
  if (coverage.share < kPoorCoverage) {
    faults.push_back(StrCat("poor coverage: the board reached ", static_cast<int>(100 * coverage.share),
                            " % of the picture; show it in every corner"));
  }
  if (fit.max_tilt_degrees < kPoorTilt) {
    faults.push_back(StrCat("poor angles: the board was never tilted by more than ",
                            static_cast<int>(fit.max_tilt_degrees),
                            "°; focal length and distance cannot be told apart"));
  }
  if (fit.rms > kPoorRms)
    faults.push_back(StrCat("poor fit: corners are off by ", std::round(10 * fit.rms) / 10,
                            " pixels; is the board flat, and its size right?"));
  return faults;
}

std::string FormatOpenCvCalibration(const Camera& camera, const std::vector<std::string>& comments) {
  const ModelNumbers numbers =
      std::visit([](const auto& model) { return NumbersOf(model); }, camera.GetModel());
  const PinholeCamera& p = numbers.pinhole;
  std::string text = "%YAML:1.0\n---\n";
  for (const std::string& comment : comments) text += StrCat("# ", comment, "\n");
  text += StrCat("image_width: ", camera.Width(), "\nimage_height: ", camera.Height(),
                 "\ndistortion_model: ", camera.ModelName(), "\n");
  text += Matrix("camera_matrix", 3, 3, {p.fx, 0, p.cx, 0, p.fy, p.cy, 0, 0, 1});
  text +=
      Matrix("distortion_coefficients", 1, static_cast<int>(numbers.distortion.size()), numbers.distortion);
  return text;
}

}  // namespace lumen
