#include "lumen/io/image_file.h"

#include <algorithm>
#include <array>

#include "lumen/base/file.h"
#include "lumen/base/text.h"
#include "lumen/io/opencv_codec.h"
#include "lumen/io/png.h"

namespace lumen {

namespace {

constexpr std::array<const char*, 6> kEndings = {".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff"};

// A JPEG that was cut short still decodes, to a picture with a grey bottom: look for its end marker.
void CheckJpegIsWhole(const std::string& bytes, const std::string& name) {
  const size_t end = bytes.rfind("\xff\xd9");
  if (end == std::string::npos || bytes.size() - end > 1024) throw InputError(name, "the file is cut short");
}

RgbImage SpreadGrey(Image<uint8_t> image) {
  if (image.Channels() == 3) return image;
  RgbImage rgb(image.Width(), image.Height(), 3);
  for (size_t i = 0; i < image.Size(); ++i) std::fill_n(rgb.Data() + 3 * i, 3, image.Data()[i]);
  return rgb;
}

}  // namespace

bool IsImageFile(const std::filesystem::path& path) {
  const std::string ending = ToLower(path.extension().string());
  return std::find(kEndings.begin(), kEndings.end(), ending) != kEndings.end();
}

RgbImage DecodeRgb(const std::string& bytes, const std::string& name) {
  if (bytes.empty()) throw InputError(name, "is empty");
  if (StartsWith(bytes, "\x89PNG")) return SpreadGrey(DecodePng8(bytes, name));
  if (StartsWith(bytes, "\xff\xd8")) CheckJpegIsWhole(bytes, name);
  return DecodeWithOpenCv(bytes, name);
}

RgbImage LoadRgb(const std::filesystem::path& path) { return DecodeRgb(ReadFile(path), path.string()); }

Mask LoadMask(const std::filesystem::path& path) {
  const RgbImage image = LoadRgb(path);
  Mask mask(image.Width(), image.Height());
  for (size_t i = 0; i < mask.Size(); ++i) {
    const uint8_t* rgb = image.Data() + 3 * i;
    mask.Data()[i] = std::max({rgb[0], rgb[1], rgb[2]}) > 127 ? 255 : 0;
  }
  return mask;
}

}  // namespace lumen
