// The build without OpenCV: says so, in words, where its help is needed.
#include "lumen/io/opencv_codec.h"

namespace lumen {

namespace {
constexpr const char* kAbsent = "this build of Lumen has no OpenCV and cannot read this kind of file";
}  // namespace

bool HaveOpenCv() { return false; }
RgbImage DecodeWithOpenCv(const std::string&, const std::string& name) { throw InputError(name, kAbsent); }
std::string EncodeJpeg(ImageView<const uint8_t>, int) {
  throw InputError("JPEG: this build of Lumen has no OpenCV");
}
Camera LoadOpenCvCalibration(const std::filesystem::path& path) { throw InputError(path, kAbsent); }
std::unique_ptr<FrameSource> OpenVideo(const std::filesystem::path& path) { throw InputError(path, kAbsent); }

}  // namespace lumen
