#include "lumen/io/opencv_board.h"

#include <cmath>
#include <numbers>
#include <opencv2/calib3d.hpp>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgproc.hpp>

namespace lumen {

namespace {

using Points2 = std::vector<std::vector<cv::Point2f>>;
using Points3 = std::vector<std::vector<cv::Point3f>>;

std::vector<cv::Point3f> BoardPoints(const Board& board) {
  std::vector<cv::Point3f> points;
  for (int y = 0; y < board.rows; ++y)
    for (int x = 0; x < board.columns; ++x)
      points.emplace_back(static_cast<float>(x * board.square_mm), static_cast<float>(y * board.square_mm),
                          0.0F);
  return points;
}

// Where the fitted camera and boards put each corner, and what is left of it.
void AddResiduals(const Points2& predicted, const Points2& measured, CameraFit& fit) {
  double sum = 0;
  size_t count = 0;
  for (size_t v = 0; v < measured.size(); ++v) {
    double view_sum = 0;
    std::vector<Eigen::Vector2d> residuals;
    for (size_t i = 0; i < measured[v].size(); ++i) {
      const cv::Point2f d = measured[v][i] - predicted[v][i];
      residuals.emplace_back(d.x, d.y);
      view_sum += residuals.back().squaredNorm();
    }
    fit.view_rms.push_back(std::sqrt(view_sum / static_cast<double>(residuals.size())));
    fit.residuals.push_back(std::move(residuals));
    sum += view_sum;
    count += measured[v].size();
  }
  fit.rms = std::sqrt(sum / static_cast<double>(count));
}

double LargestTilt(const std::vector<cv::Mat>& rotations) {
  double largest = 0;
  for (const cv::Mat& rotation : rotations) {
    cv::Mat matrix;
    cv::Rodrigues(rotation, matrix);
    const double cosine = std::min(1.0, std::abs(matrix.at<double>(2, 2)));
    largest = std::max(largest, std::acos(cosine) * 180 / std::numbers::pi);
  }
  return largest;
}

PinholeCamera PinholeOf(const cv::Mat& k) {
  return {k.at<double>(0, 0), k.at<double>(1, 1), k.at<double>(0, 2), k.at<double>(1, 2)};
}

bool IsSensible(const CameraFit& fit) {
  const auto* p = std::visit(
      [](const auto& model) -> const PinholeCamera* {
        if constexpr (requires { model.pinhole; })
          return &model.pinhole;
        else if constexpr (std::is_same_v<std::decay_t<decltype(model)>, PinholeCamera>)
          return &model;
        else
          return nullptr;
      },
      fit.camera.GetModel());
  const double size = fit.camera.Width();
  return p != nullptr && std::isfinite(fit.rms) && p->fx > 0.05 * size && p->fx < 50 * size &&
         p->cx > -size && p->cx < 2 * size;
}

CameraFit FitRadTan(const Points3& objects, const Points2& measured, const cv::Size& size, bool distorted) {
  cv::Mat k, d;
  std::vector<cv::Mat> rotations, translations;
  const int flags =
      distorted ? 0 : cv::CALIB_FIX_K1 | cv::CALIB_FIX_K2 | cv::CALIB_FIX_K3 | cv::CALIB_ZERO_TANGENT_DIST;
  cv::calibrateCamera(objects, measured, size, k, d, rotations, translations, flags);
  Points2 predicted(objects.size());
  for (size_t v = 0; v < objects.size(); ++v)
    cv::projectPoints(objects[v], rotations[v], translations[v], k, d, predicted[v]);
  CameraFit fit;
  const PinholeCamera pinhole = PinholeOf(k);
  Camera::Model model = pinhole;
  if (distorted)
    model = RadTanCamera{
        pinhole, {d.at<double>(0), d.at<double>(1), d.at<double>(2), d.at<double>(3), d.at<double>(4)}};
  fit.camera = Camera(model, size.width, size.height);
  fit.max_tilt_degrees = LargestTilt(rotations);
  AddResiduals(predicted, measured, fit);
  return fit;
}

CameraFit FitKannalaBrandt(const Points3& objects, const Points2& measured, const cv::Size& size,
                           double focal) {
  cv::Mat k = (cv::Mat_<double>(3, 3) << focal, 0, (size.width - 1) / 2.0, 0, focal, (size.height - 1) / 2.0,
               0, 0, 1);
  cv::Mat d = cv::Mat::zeros(4, 1, CV_64F);
  std::vector<cv::Mat> rotations, translations;
  cv::fisheye::calibrate(objects, measured, size, k, d, rotations, translations,
                         cv::fisheye::CALIB_USE_INTRINSIC_GUESS | cv::fisheye::CALIB_RECOMPUTE_EXTRINSIC |
                             cv::fisheye::CALIB_FIX_SKEW,
                         cv::TermCriteria(cv::TermCriteria::COUNT + cv::TermCriteria::EPS, 100, 1e-8));
  Points2 predicted(objects.size());
  for (size_t v = 0; v < objects.size(); ++v)
    cv::fisheye::projectPoints(objects[v], predicted[v], rotations[v], translations[v], k, d);
  CameraFit fit;
  fit.camera = Camera(
      KannalaBrandtCamera{PinholeOf(k), {d.at<double>(0), d.at<double>(1), d.at<double>(2), d.at<double>(3)}},
      size.width, size.height);
  fit.max_tilt_degrees = LargestTilt(rotations);
  AddResiduals(predicted, measured, fit);
  return fit;
}

// Without a guess of the focal length the fit often runs away, and a guess that is far off ends in an
// exception or in a camera that does not explain the corners: several are tried, from narrow to a fisheye
// that shows half of the world.
CameraFit FitKannalaBrandt(const Points3& objects, const Points2& measured, const cv::Size& size) {
  std::optional<CameraFit> best;
  std::string why;
  constexpr double kGood = 0.3;                             // pixels
  for (const double radians : {2.0, 2.6, 1.4, 3.0, 0.9}) {  // that the picture is wide
    if (best && best->rms < kGood) break;
    try {
      CameraFit fit = FitKannalaBrandt(objects, measured, size, size.width / radians);
      if (IsSensible(fit) && (!best || fit.rms < best->rms)) best = std::move(fit);
    } catch (const cv::Exception& error) {
      why = error.what();
    }
  }
  if (!best) throw cv::Exception(cv::Error::StsNoConv, why, __func__, __FILE__, __LINE__);
  return *best;
}

// How much better than a simpler model one must explain the corners to be taken: clearly, but for a fisheye
// that is one indeed. Beyond the places where the board was seen its polynomial goes on as lenses do; the
// radial-tangential one folds over.
double Handicap(const CameraFit& fit) {
  constexpr double kClearly = 0.9, kAboutAsWell = 1.15, kWide = 50;  // degrees off the axis in the corners
  if (fit.camera.ModelName() != "kannala_brandt") return kClearly;
  const auto corner = fit.camera.Unproject({0, 0});
  const bool wide = !corner || corner->z() < std::cos(kWide * std::numbers::pi / 180);
  return wide ? kAboutAsWell : kClearly;
}

}  // namespace

std::optional<BoardView> FindBoardWithOpenCv(const RawFrame& frame, const Board& board) {
  cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT);
  const cv::Mat rgb(frame.image.Height(), frame.image.Width(), CV_8UC3,
                    const_cast<uint8_t*>(frame.image.Data()));
  cv::Mat grey;
  cv::cvtColor(rgb, grey, cv::COLOR_RGB2GRAY);
  const cv::Size size(board.columns, board.rows);
  std::vector<cv::Point2f> corners;
  if (!cv::findChessboardCorners(
          grey, size, corners,
          cv::CALIB_CB_ADAPTIVE_THRESH | cv::CALIB_CB_NORMALIZE_IMAGE | cv::CALIB_CB_FAST_CHECK))
    return std::nullopt;
  // The search window must not reach a neighbouring corner.
  double nearest = cv::norm(corners[1] - corners[0]);
  for (size_t i = 1; i < corners.size(); ++i)
    for (size_t j = 0; j < i; ++j) nearest = std::min(nearest, cv::norm(corners[i] - corners[j]));
  const int half = std::max(2, std::min(11, static_cast<int>(nearest / 3)));
  cv::cornerSubPix(grey, corners, cv::Size(half, half), cv::Size(-1, -1),
                   cv::TermCriteria(cv::TermCriteria::COUNT + cv::TermCriteria::EPS, 50, 1e-3));
  BoardView view;
  view.frame = frame.index;
  for (const cv::Point2f& corner : corners) view.corners.emplace_back(corner.x, corner.y);
  return view;
}

std::optional<CameraFit> FitCameraWithOpenCv(const std::vector<BoardView>& views, const Board& board,
                                             const CameraFitOptions& options) {
  Points2 measured;
  for (const BoardView& view : views) {
    std::vector<cv::Point2f> corners;
    for (const Eigen::Vector2d& uv : view.corners)
      corners.emplace_back(static_cast<float>(uv.x()), static_cast<float>(uv.y()));
    measured.push_back(std::move(corners));
  }
  const Points3 objects(measured.size(), BoardPoints(board));
  const cv::Size size(options.width, options.height);
  std::optional<CameraFit> best;
  const auto attempt = [&](const char* name, const auto& fit_model) {
    if (options.model != "auto" && options.model != name) return;
    try {
      CameraFit fit = fit_model();
      if (IsSensible(fit) && (!best || fit.rms < Handicap(fit) * best->rms)) best = std::move(fit);
    } catch (const cv::Exception&) {
      // the views do not determine this model
    }
  };
  attempt("pinhole", [&] { return FitRadTan(objects, measured, size, false); });
  attempt("radtan", [&] { return FitRadTan(objects, measured, size, true); });
  attempt("kannala_brandt", [&] { return FitKannalaBrandt(objects, measured, size); });
  return best;
}

}  // namespace lumen
