// What OpenCV does for us: pictures other than PNG, video, cameras, its calibration files. OpenCV brings
// 240 libraries with it, a quarter of a second and 70 MB at every start; so it lives in a module of its
// own, loaded when one of these is first called. Without the module they throw InputError and say so.
#pragma once

#include <memory>
#include <string>

#include "lumen/geometry/camera.h"
#include "lumen/image/image.h"
#include "lumen/io/board_calibration.h"
#include "lumen/io/camera_source.h"
#include "lumen/io/frame_source.h"
#include "lumen/io/number_image.h"

namespace lumen {

bool HaveOpenCv();  // the module can be loaded
RgbImage DecodeWithOpenCv(const std::string& bytes, const std::string& name);
NumberImage DecodeNumbersWithOpenCv(const std::string& bytes, const std::string& name);
std::string EncodeJpeg(ImageView<const uint8_t> rgb, int quality);
// A calibration as OpenCV's FileStorage or ROS writes it.
Camera LoadOpenCvCalibration(const std::filesystem::path& path);
std::unique_ptr<FrameSource> OpenVideo(const std::filesystem::path& path);
std::unique_ptr<CameraPort> OpenCamera(const std::filesystem::path& path);  // "/dev/video0"; not opened yet

// The module's face: one object behind one C function.
class OpenCvModule {
 public:
  virtual ~OpenCvModule() = default;
  virtual RgbImage Decode(const std::string& bytes, const std::string& name) const = 0;
  virtual NumberImage DecodeNumbers(const std::string& bytes, const std::string& name) const = 0;
  virtual std::string EncodeJpeg(ImageView<const uint8_t> rgb, int quality) const = 0;
  virtual Camera LoadCalibration(const std::filesystem::path& path) const = 0;
  virtual std::unique_ptr<FrameSource> OpenVideo(const std::filesystem::path& path) const = 0;
  virtual std::unique_ptr<CameraPort> OpenCamera(const std::filesystem::path& path) const = 0;
  virtual std::optional<BoardView> FindBoard(const RawFrame& frame, const Board& board) const = 0;
  virtual std::optional<CameraFit> FitCamera(const std::vector<BoardView>& views, const Board& board,
                                             const CameraFitOptions& options) const = 0;
};
constexpr const char* kOpenCvModuleEntry = "LumenOpenCvModule";

}  // namespace lumen
