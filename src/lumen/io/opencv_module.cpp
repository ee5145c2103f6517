// The module that links OpenCV; see opencv_codec.h.
#include "lumen/io/opencv_codec.h"

#include <cstdlib>
#include <new>
#include <opencv2/core.hpp>
#include <opencv2/core/utils/logger.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>

#include "lumen/base/limits.h"
#include "lumen/base/text.h"
#include "lumen/geometry/rational_lens.h"
#include "lumen/io/opencv_board.h"

namespace lumen {

namespace {

// OpenCV works in BGR; inside Lumen everything is RGB.
RgbImage FromBgr(const cv::Mat& bgr) {
  RgbImage image(bgr.cols, bgr.rows, 3);
  cv::Mat rgb(bgr.rows, bgr.cols, CV_8UC3, image.Data());
  cv::cvtColor(bgr, rgb, cv::COLOR_BGR2RGB);
  return image;
}

void SilenceOpenCv() { cv::utils::logging::setLogLevel(cv::utils::logging::LOG_LEVEL_SILENT); }

RgbImage Decode(const std::string& bytes, const std::string& name) {
  SilenceOpenCv();
  const cv::Mat raw(1, static_cast<int>(bytes.size()), CV_8U, const_cast<char*>(bytes.data()));
  cv::Mat bgr;
  try {
    bgr = cv::imdecode(raw, cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION);
  } catch (const cv::Exception&) {
    // handled below: an empty result
  }
  if (bgr.empty()) throw InputError(name, "cannot be decoded as an image");
  return FromBgr(bgr);
}

int BitsOf(const cv::Mat& stored) {
  switch (stored.depth()) {
    case CV_8U:
      return 8;
    case CV_16U:
      return 16;
    case CV_32F:
      return 32;
    default:
      return 0;
  }
}

NumberImage DecodeStored(const std::string& bytes, const std::string& name) {
  SilenceOpenCv();
  const cv::Mat raw(1, static_cast<int>(bytes.size()), CV_8U, const_cast<char*>(bytes.data()));
  cv::Mat stored;
  try {
    stored = cv::imdecode(raw, cv::IMREAD_UNCHANGED);
    if (stored.channels() == 3) cv::cvtColor(stored, stored, cv::COLOR_BGR2RGB);
    if (stored.channels() == 4) cv::cvtColor(stored, stored, cv::COLOR_BGRA2RGBA);
  } catch (const cv::Exception&) {
    // handled below: an empty result
  }
  if (stored.empty() || stored.channels() > 4) throw InputError(name, "cannot be decoded as an image");
  NumberImage image{stored.cols, stored.rows, stored.channels(), BitsOf(stored), {}};
  if (image.bits == 0) throw InputError(name, "stores other numbers than 8 or 16 bits or 32 floating ones");
  cv::Mat numbers;
  stored.convertTo(numbers, CV_32F);
  const auto* first = numbers.ptr<float>();
  image.values.assign(first, first + numbers.total() * static_cast<size_t>(numbers.channels()));
  return image;
}

std::string EncodeAsJpeg(ImageView<const uint8_t> rgb, int quality) {
  LUMEN_CHECK(rgb.Channels() == 3);
  const cv::Mat view(rgb.Height(), rgb.Width(), CV_8UC3, const_cast<uint8_t*>(rgb.Data()));
  cv::Mat bgr;
  cv::cvtColor(view, bgr, cv::COLOR_RGB2BGR);
  std::vector<uint8_t> bytes;
  try {
    cv::imencode(".jpg", bgr, bytes, {cv::IMWRITE_JPEG_QUALITY, quality});
  } catch (const cv::Exception& error) {
    // libjpeg says so in words.
    if (error.err.find("Insufficient memory") != std::string::npos) throw std::bad_alloc();
    throw;
  }
  return {bytes.begin(), bytes.end()};
}

cv::Mat ReadMatrix(const cv::FileStorage& file, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const cv::FileNode node = file[name];
    if (node.empty()) continue;
    cv::Mat matrix;
    if (node.isMap() && node["dt"].empty() && !node["data"].empty()) {  // ROS: a map with rows, cols, data
      std::vector<double> data;
      node["data"] >> data;
      matrix = cv::Mat(data, true).reshape(1, static_cast<int>(node["rows"]));
    } else {
      node >> matrix;
    }
    matrix.convertTo(matrix, CV_64F);
    return matrix;
  }
  return {};
}

bool IsFisheye(const cv::FileStorage& file) {
  for (const char* name : {"distortion_model", "camera_model", "model"}) {
    if (!file[name].isString()) continue;
    const std::string model = ToLower(std::string(file[name]));
    if (model == "equidistant" || model == "fisheye" || model == "kannala_brandt") return true;
  }
  return false;
}

Camera::Model MakeModel(const PinholeCamera& pinhole, const cv::Mat& d, bool fisheye, int width, int height,
                        const std::filesystem::path& path) {
  const auto count = static_cast<int>(d.total());
  const auto at = [&](int i) { return i < count ? d.at<double>(i) : 0.0; };
  if (fisheye) {
    if (count != 4)
      throw InputError(path, StrCat("a fisheye model needs 4 distortion coefficients, not ", count));
    return KannalaBrandtCamera{pinhole, {at(0), at(1), at(2), at(3)}};
  }
  if (count == 0 || cv::norm(d) == 0) return pinhole;
  std::vector<double> coefficients;
  for (int i = 0; i < count; ++i) coefficients.push_back(at(i));
  const auto lens = RadTanFromCoefficients(pinhole, coefficients, width, height);
  if (!lens) throw InputError(path, "distorts in a way that five coefficients cannot say");
  return *lens;
}

Camera LoadStoredCalibration(const std::filesystem::path& path) {
  SilenceOpenCv();
  cv::FileStorage file;
  try {
    file.open(path.string(), cv::FileStorage::READ);
  } catch (const cv::Exception&) {
    // handled below: not opened
  }
  if (!file.isOpened()) throw InputError(path, "is not an OpenCV calibration file");
  const cv::Mat k = ReadMatrix(file, {"camera_matrix", "K", "M1", "cameraMatrix"});
  const cv::Mat d = ReadMatrix(file, {"distortion_coefficients", "dist_coeffs", "D", "D1", "distCoeffs"});
  const int width = file["image_width"].isInt() ? static_cast<int>(file["image_width"]) : 0;
  const int height = file["image_height"].isInt() ? static_cast<int>(file["image_height"]) : 0;
  if (k.rows != 3 || k.cols != 3) throw InputError(path, "has no 3x3 camera_matrix");
  if (width <= 0 || height <= 0) throw InputError(path, "has no image_width and image_height");
  const PinholeCamera pinhole{k.at<double>(0, 0), k.at<double>(1, 1), k.at<double>(0, 2), k.at<double>(1, 2)};
  if (!(pinhole.fx > 0) || !(pinhole.fy > 0))
    throw InputError(path, "has a focal length that is not positive");
  if (!cv::checkRange(k) || !cv::checkRange(d)) throw InputError(path, "holds numbers that are not finite");
  return {MakeModel(pinhole, d, IsFisheye(file), width, height, path), width, height};
}

void TryOpen(cv::VideoCapture& capture, const std::filesystem::path& path, int reader) {
  try {
    capture.open(path.string(), reader);
  } catch (const cv::Exception&) {
    // whoever asks finds it not opened
  }
}

class OpenCvCamera : public CameraPort {
 public:
  explicit OpenCvCamera(std::filesystem::path path) : path_(std::move(path)) {}
  bool Open() override {
    SilenceOpenCv();
    TryOpen(capture_, path_, cv::CAP_V4L2);
    return capture_.isOpened();
  }
  std::optional<RgbImage> Read() override {
    cv::Mat bgr;
    try {
      if (!capture_.read(bgr) || bgr.empty()) return std::nullopt;
    } catch (const cv::Exception&) {
      return std::nullopt;
    }
    return FromBgr(bgr);
  }
  double Fps() const override { return capture_.get(cv::CAP_PROP_FPS); }

 private:
  std::filesystem::path path_;
  cv::VideoCapture capture_;
};

class VideoSource : public FrameSource {
 public:
  explicit VideoSource(const std::filesystem::path& path) : path_(path) {
    SilenceOpenCv();
    // Readers of files alone: left to choose, OpenCV asks every camera on the bus about a broken file.
    for (const int reader : {cv::CAP_FFMPEG, cv::CAP_GSTREAMER, cv::CAP_OPENCV_MJPEG}) {
      if (!capture_.isOpened()) TryOpen(capture_, path, reader);
    }
    if (!capture_.isOpened()) throw InputError(path, "cannot be decoded as a video");
    info_.name = path.stem().string();
    info_.width = static_cast<int>(capture_.get(cv::CAP_PROP_FRAME_WIDTH));
    info_.height = static_cast<int>(capture_.get(cv::CAP_PROP_FRAME_HEIGHT));
    info_.fps = capture_.get(cv::CAP_PROP_FPS);
    if (!(info_.fps > 0 && info_.fps < 1000)) info_.fps = 30;
    const double count = capture_.get(cv::CAP_PROP_FRAME_COUNT);
    if (count > 0 && count < 1e9) info_.frame_count = static_cast<int64_t>(count);
  }

  std::optional<RawFrame> Next() override {
    cv::Mat bgr;
    bool good = false;
    try {
      good = capture_.read(bgr);
    } catch (const cv::Exception&) {
      // handled below: the end
    }
    if (!good || bgr.empty()) {
      if (next_ == 0) throw InputError(path_, "not one frame can be decoded");
      return std::nullopt;
    }
    const int64_t index = next_++;
    if (bgr.cols != info_.width || bgr.rows != info_.height)
      throw InputError(path_, StrCat("frame ", index, " is ", bgr.cols, "x", bgr.rows, ", not ", info_.width,
                                     "x", info_.height));
    return RawFrame{index, TimeOf(index), FromBgr(bgr)};
  }

  bool Skip() override {
    if (!capture_.grab()) return false;
    ++next_;
    return true;
  }

 private:
  // By the rate, unless the file stamps its frames otherwise: recorders drop frames, phones change their
  // rate.
  double TimeOf(int64_t index) {
    const double steady = static_cast<double>(index) / info_.fps;
    const double stamped = capture_.get(cv::CAP_PROP_POS_MSEC) / 1000;
    const bool stamps = stamped > stamped_;  // a stream without any says 0 for ever
    if (index == 0) first_stamp_ = stamped;
    stamped_ = std::max(stamped_, stamped);
    const double since = stamped - first_stamp_;
    constexpr double kUnsteady = 0.75;  // of a frame
    const bool unsteady = stamps && std::abs(since - steady) > kUnsteady / info_.fps;
    constexpr double kLeastStep = 0.05;  // of a frame: where one way of counting follows on the other
    time_ = std::max(unsteady ? since : steady, time_ + kLeastStep / info_.fps);
    return time_;
  }

  std::filesystem::path path_;
  cv::VideoCapture capture_;
  int64_t next_ = 0;
  double first_stamp_ = 0, stamped_ = -1;
  double time_ = -1;
};

class Module : public OpenCvModule {
 public:
  RgbImage Decode(const std::string& bytes, const std::string& name) const override {
    return lumen::Decode(bytes, name);
  }
  NumberImage DecodeNumbers(const std::string& bytes, const std::string& name) const override {
    return DecodeStored(bytes, name);
  }
  std::string EncodeJpeg(ImageView<const uint8_t> rgb, int quality) const override {
    return EncodeAsJpeg(rgb, quality);
  }
  Camera LoadCalibration(const std::filesystem::path& path) const override {
    try {
      return LoadStoredCalibration(path);
    } catch (const InputError&) {
      throw;
    } catch (const std::exception&) {  // OpenCV's, and what its parser lets through of the standard library's
      throw InputError(path, "holds something else where a calibration's numbers must stand");
    }
  }
  std::unique_ptr<FrameSource> OpenVideo(const std::filesystem::path& path) const override {
    return std::make_unique<VideoSource>(path);
  }
  std::unique_ptr<CameraPort> OpenCamera(const std::filesystem::path& path) const override {
    return std::make_unique<OpenCvCamera>(path);
  }
  std::optional<BoardView> FindBoard(const RawFrame& frame, const Board& board) const override {
    return FindBoardWithOpenCv(frame, board);
  }
  std::optional<CameraFit> FitCamera(const std::vector<BoardView>& views, const Board& board,
                                     const CameraFitOptions& options) const override {
    return FitCameraWithOpenCv(views, board, options);
  }
};

}  // namespace

}  // namespace lumen

extern "C" __attribute__((visibility("default"))) const lumen::OpenCvModule* LumenOpenCvModule() {
  // It reads this once, when the first picture comes.
  ::setenv("OPENCV_IO_MAX_IMAGE_PIXELS", std::to_string(lumen::limits::kImagePixels).c_str(), 0);
  static const lumen::Module module;
  return &module;
}
