#include "lumen/io/opencv_codec.h"

#include <cstdlib>

#include "lumen/base/isolated.h"
#include "lumen/base/limits.h"
#include "lumen/base/module.h"
#include "lumen/io/calibration.h"

namespace lumen {

namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

const OpenCvModule* Module() {
  static const OpenCvModule* const module = [] {
    // How long it waits for a camera's picture, in seconds, and what it makes room for: read when it is
    // loaded.
    ::setenv("OPENCV_VIDEOIO_V4L_SELECT_TIMEOUT", "1", 0);
    ::setenv("OPENCV_IO_MAX_IMAGE_PIXELS", std::to_string(limits::kImagePixels).c_str(), 1);
    const auto entry =
        reinterpret_cast<const OpenCvModule* (*)()>(FindModuleEntry("lumen_opencv", kOpenCvModuleEntry));
    return entry != nullptr ? entry() : nullptr;
  }();
  return module;
}

const OpenCvModule& RequireModule(const std::string& name) {
  if (Module() == nullptr)
    throw InputError(name, "reading or writing this needs Lumen's OpenCV module, which is not here");
  return *Module();
}

// OpenCV tries every decoder it was built with, DICOM's and GDAL's among them: they are kept out of reach.
void RequirePicture(const std::string& bytes, const std::string& name) {
  for (const std::string_view start : {"\x89PNG\r\n\x1a\n"sv, "\xff\xd8\xff"sv, "BM"sv, "II*\0"sv, "MM\0*"sv})
    if (std::string_view(bytes).starts_with(start)) return;
  throw InputError(name, "cannot be decoded as an image");
}

}  // namespace

bool HaveOpenCv() { return Module() != nullptr; }

RgbImage DecodeWithOpenCv(const std::string& bytes, const std::string& name) {
  RequirePicture(bytes, name);
  return RequireModule(name).Decode(bytes, name);
}
NumberImage DecodeNumbersWithOpenCv(const std::string& bytes, const std::string& name) {
  RequirePicture(bytes, name);
  return RequireModule(name).DecodeNumbers(bytes, name);
}
std::string EncodeJpeg(ImageView<const uint8_t> rgb, int quality) {
  return RequireModule("JPEG").EncodeJpeg(rgb, quality);
}
Camera LoadOpenCvCalibration(const fs::path& path) {
  const OpenCvModule& module = RequireModule(path.string());
  // Its parser of YAML believes what it reads.
  Isolated reader(path.string(), [&](std::string_view, RecordWriter& out) {
    out.Write(FormatCamera(module.LoadCalibration(path)));
  });
  std::string text;
  constexpr size_t kMost = 1 << 16;
  reader.Ask("", [&](RecordReader& in) { text = in.ReadText(kMost); });
  return ParseCamera(ParseToml(text, path.string()), path.string());
}
std::unique_ptr<FrameSource> OpenVideo(const fs::path& path) {
  return RequireModule(path.string()).OpenVideo(path);
}
std::unique_ptr<CameraPort> OpenCamera(const fs::path& path) {
  return RequireModule(path.string()).OpenCamera(path);
}

std::optional<BoardView> FindBoard(const RawFrame& frame, const Board& board) {
  return RequireModule("checkerboard").FindBoard(frame, board);
}
std::optional<CameraFit> FitCamera(const std::vector<BoardView>& views, const Board& board,
                                   const CameraFitOptions& options) {
  return RequireModule("checkerboard").FitCamera(views, board, options);
}

}  // namespace lumen
