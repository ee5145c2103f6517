// Depth maps of any kind that data sets bring: TIFF, OpenEXR, PNG, by OpenCV.
#include "fuzz/fuzz.h"
#include "lumen/io/number_image.h"
#include "lumen/io/opencv_codec.h"

namespace lumen::fuzz {
namespace {

void ReadNumberImage(const std::string& input) {
  const NumberImage image = DecodeNumberImage(input, kName);
  Expect(image.width > 0 && image.height > 0 && image.channels > 0, "it has pixels");
  Expect(image.values.size() == static_cast<size_t>(image.width) * static_cast<size_t>(image.height) *
                                    static_cast<size_t>(image.channels),
         "and a number for each");
}

const Registration kTarget("number_image", ReadNumberImage, [] { HaveOpenCv(); });

}  // namespace
}  // namespace lumen::fuzz
