#include <cmath>
#include <iomanip>
#include <iostream>

#include "lumen/apps/app.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/base/progress.h"
#include "lumen/eval/svg.h"
#include "lumen/image/colormap.h"
#include "lumen/io/board_calibration.h"
#include "lumen/io/calibration.h"

namespace lumen {

namespace {

constexpr size_t kLeastViews = 3;
constexpr size_t kMostViews = 60;  // more cost minutes and add nothing

struct CalibrateOptions {
  std::filesystem::path input;
  std::string board;
  double square_mm = 0;
  std::filesystem::path out = "calibration.yaml";
  std::filesystem::path picture;
  std::string model = "auto";
  double fov_degrees = 0;
};

// The board moved by this share of the picture's width or it is the same view again.
constexpr double kLeastMotion = 0.03;

bool IsNewView(const BoardView& view, const std::vector<BoardView>& views, int width) {
  if (views.empty()) return true;
  double sum = 0;
  for (size_t i = 0; i < view.corners.size(); ++i) sum += (view.corners[i] - views.back().corners[i]).norm();
  return sum / static_cast<double>(view.corners.size()) > kLeastMotion * width;
}

// Views in which the board is another than in the one before, at most so many, spread evenly.
std::vector<BoardView> CollectViews(FrameSource& source, const Board& board) {
  ProgressBar progress("board", source.Info().frame_count);
  std::vector<BoardView> views;
  int64_t seen = 0;
  while (auto frame = source.Next()) {
    progress.Update(++seen, StrCat(views.size(), " views"));
    auto view = FindBoard(*frame, board);
    if (view && IsNewView(*view, views, frame->image.Width())) views.push_back(std::move(*view));
  }
  progress.Finish();
  if (views.size() <= kMostViews) return views;
  std::vector<BoardView> some;
  for (size_t i = 0; i < kMostViews; ++i) some.push_back(views[i * views.size() / kMostViews]);
  return some;
}

// Where corners were seen, and how far off they are: arrows ten times as long as the error.
std::string DrawCalibration(const std::vector<BoardView>& views, const CameraFit& fit,
                            const Coverage& coverage) {
  constexpr double width = 760, left = 20, top = 60, stretch = 10;
  const double scale = width / fit.camera.Width();
  const double height = scale * fit.camera.Height();
  Svg svg(width + 2 * left, height + top + 20);
  svg.Text({left, 26}, StrCat("Corners of ", views.size(), " views; lines: error × 10; grey: never reached"),
           {.size = 14, .bold = true});
  const double cell_width = width / kCoverageColumns, cell_height = height / kCoverageRows;
  for (int y = 0; y < kCoverageRows; ++y) {
    for (int x = 0; x < kCoverageColumns; ++x) {
      const bool reached =
          coverage.counts[static_cast<size_t>(y) * kCoverageColumns + static_cast<size_t>(x)] > 0;
      svg.Rect({left + x * cell_width, top + y * cell_height, cell_width, cell_height},
               reached ? "#EAF4FB" : "#CCCCCC", {.color = "#FFFFFF", .width = 1});
    }
  }
  for (size_t v = 0; v < views.size(); ++v) {
    for (size_t i = 0; i < views[v].corners.size(); ++i) {
      const Eigen::Vector2d at = Eigen::Vector2d(left, top) + scale * views[v].corners[i];
      svg.Marker(at, MarkerShape::kCircle, 3, kBlue);
      svg.Line(at, at + scale * stretch * fit.residuals[v][i], {.color = kVermillion, .width = 1.2});
    }
  }
  svg.Text({left, 46},
           StrCat("RMS ", std::round(1000 * fit.rms) / 1000, " px, ", std::round(100 * coverage.share),
                  " % of the picture reached"),
           {.size = 12});
  return svg.Finish();
}

void WriteGuess(const CalibrateOptions& options, const SourceInfo& info) {
  const Camera camera = GuessCamera(options.fov_degrees, info.width, info.height);
  WriteFileAtomically(
      options.out, FormatOpenCvCalibration(camera, {StrCat("a guess from a horizontal field of view of ",
                                                           options.fov_degrees, " degrees, not measured")}));
  LogWarning("a guess, not a calibration: ", camera.ModelName(),
             ", centre in the middle: ", options.out.string());
}

void PrintFit(const std::vector<BoardView>& views, const CameraFit& fit, const Coverage& coverage,
              const std::vector<std::string>& faults) {
  std::cout << std::fixed << std::setprecision(3) << FormatCamera(fit.camera) << "views     " << views.size()
            << "\nrms       " << fit.rms << " px\ncoverage  " << std::setprecision(0) << 100 * coverage.share
            << " %\ntilt      up to " << fit.max_tilt_degrees << " degrees\nverdict   "
            << (faults.empty() ? "good" : "poor") << '\n';
}

void RunCalibrate(const CalibrateOptions& options) {
  if (!options.out.empty()) RequireWritable(options.out);
  const auto source = OpenInput(options.input, {});
  if (options.fov_degrees > 0) return WriteGuess(options, source->Info());
  if (options.board.empty() || !(options.square_mm > 0))
    throw InputError("give --board COLUMNSxROWS and --square MM, or --fov DEGREES for a guess");
  const Board board = ParseBoard(options.board, options.square_mm);
  const std::vector<BoardView> views = CollectViews(*source, board);
  if (views.size() < kLeastViews) {
    throw InputError(options.input,
                     StrCat("the board of ", board.columns, "x", board.rows, " inner corners was found in ",
                            views.size(), " different views; at least ", kLeastViews, " are needed"));
  }
  const int width = source->Info().width, height = source->Info().height;
  const auto fit = FitCamera(views, board, {.model = options.model, .width = width, .height = height});
  if (!fit) throw InputError(options.input, "the views of the board do not determine a camera");
  const Coverage coverage = ComputeCoverage(views, width, height);
  const std::vector<std::string> faults = JudgeCalibration(*fit, coverage, views.size());
  std::vector<std::string> comments = {StrCat("from ", views.size(), " views of a checkerboard, rms ",
                                              std::round(1000 * fit->rms) / 1000, " px")};
  comments.insert(comments.end(), faults.begin(), faults.end());
  WriteFileAtomically(options.out, FormatOpenCvCalibration(fit->camera, comments));
  const std::filesystem::path picture = options.picture.empty()
                                            ? std::filesystem::path(options.out).replace_extension(".svg")
                                            : options.picture;
  WriteFileAtomically(picture, DrawCalibration(views, *fit, coverage));
  PrintFit(views, *fit, coverage, faults);
  for (const std::string& fault : faults) LogWarning(fault);
  LogInfo("wrote ", options.out.string(), " and ", picture.string());
}

}  // namespace

void AddCalibrateCommand(Command& app) {
  Command& command = app.AddCommand("calibrate", "a camera from views of a checkerboard");
  auto options = std::make_shared<CalibrateOptions>();
  command.Add("INPUT", options->input, "images, video or camera that shows the board").Required();
  command.Add("--board", options->board, "inner corners, COLUMNSxROWS: 9x6 for a board of 10 by 7 squares");
  command.Add("--square", options->square_mm, "side of a square in mm").Positive();
  command.Add("--out", options->out, "file to write").ShowDefault();
  command.Add("--picture", options->picture,
              "where corners were seen and how far off they are (default: beside the file, .svg)");
  command.Add("--camera", options->model, "which model: auto, pinhole, radtan or kannala_brandt")
      .OneOf({"auto", "pinhole", "radtan", "kannala_brandt"})
      .ShowDefault();
  command
      .Add("--fov", options->fov_degrees,
           "write a stated guess from the horizontal field of view in degrees instead")
      .Within(1.0, 170.0);
  command.Do([options] { RunCalibrate(*options); });
}

}  // namespace lumen
