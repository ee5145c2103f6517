#include "lumen/io/number_image.h"

#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/limits.h"
#include "lumen/base/text.h"
#include "lumen/io/opencv_codec.h"
#include "lumen/io/png.h"

namespace lumen {

NumberImage LoadNumberImage(const std::filesystem::path& path) {
  return DecodeNumberImage(ReadFile(path, limits::kFileBytes), path.string());
}

NumberImage DecodeNumberImage(const std::string& bytes, const std::string& name) {
  NumberImage image = DecodeNumbersWithOpenCv(bytes, name);
  const size_t expected = static_cast<size_t>(image.width) * static_cast<size_t>(image.height) *
                          static_cast<size_t>(image.channels);
  if (image.width <= 0 || image.height <= 0 || image.channels <= 0 || image.values.size() != expected)
    throw InputError(name, "cannot be decoded as an image");
  return image;
}

void RequireStored(const NumberImage& image, int bits, int channels, const std::string& name) {
  if (image.bits != bits) throw InputError(name, StrCat("stores ", image.bits, " bits a number, not ", bits));
  if (channels != 0 && image.channels != channels)
    throw InputError(name, StrCat("has ", image.channels, " channels, not ", channels));
}

}  // namespace lumen
