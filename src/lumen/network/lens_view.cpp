#include "lumen/network/lens_view.h"

#include <cmath>

#include "lumen/base/error.h"

namespace lumen {

LensView::LensView(const Camera& camera, const Mask& content)
    : mask(content), angles(content.Width(), content.Height()) {
  LUMEN_CHECK(SameSize(camera, content));
  for (int y = 0; y < angles.Height(); ++y) {
    for (int x = 0; x < angles.Width(); ++x) {
      if (const auto direction = camera.Unproject({x, y}))
        angles(x, y) = static_cast<float>(std::atan2(direction->head<2>().norm(), direction->z()));
    }
  }
}

LensView::LensView(const Mask& content)
    : LensView(Camera::FromFieldOfView(77, content.Width(), content.Height()), content) {}

}  // namespace lumen
