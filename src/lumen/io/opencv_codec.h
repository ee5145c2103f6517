// What OpenCV decodes for us. In a build without it these say so as InputErrors.
#pragma once

#include <memory>
#include <string>

#include "lumen/geometry/camera.h"
#include "lumen/image/image.h"
#include "lumen/io/frame_source.h"

namespace lumen {

bool HaveOpenCv();
RgbImage DecodeWithOpenCv(const std::string& bytes, const std::string& name);
std::string EncodeJpeg(ImageView<const uint8_t> rgb, int quality);
// A calibration as OpenCV's FileStorage or ROS writes it.
Camera LoadOpenCvCalibration(const std::filesystem::path& path);
// A video file, or a camera ("/dev/video0").
std::unique_ptr<FrameSource> OpenVideo(const std::filesystem::path& path);

}  // namespace lumen
