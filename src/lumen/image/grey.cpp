#include "lumen/image/grey.h"

namespace lumen {

Image<uint8_t> ToGrey(ImageView<const uint8_t> rgb) {
  LUMEN_CHECK(rgb.Empty() || rgb.Channels() == 3, rgb.Channels());
  Image<uint8_t> grey(rgb.Width(), rgb.Height());
  for (size_t i = 0; i < grey.Size(); ++i) grey.Data()[i] = GreyOf(rgb.Data() + 3 * i);
  return grey;
}

}  // namespace lumen
