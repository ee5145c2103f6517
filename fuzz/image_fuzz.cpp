// Pictures of any kind Lumen reads: PNG itself, the others by OpenCV.
#include "fuzz/fuzz.h"
#include "lumen/io/image_file.h"
#include "lumen/io/opencv_codec.h"

namespace lumen::fuzz {
namespace {

void ReadImage(const std::string& input) {
  const RgbImage image = DecodeRgb(input, kName);
  Expect(!image.Empty() && image.Channels() == 3, "three channels");
}

const Registration kTarget("image", ReadImage, [] { HaveOpenCv(); });

}  // namespace
}  // namespace lumen::fuzz
