// What holds of every camera that was read.
#pragma once

#include "fuzz/fuzz.h"
#include "lumen/io/calibration.h"

namespace lumen::fuzz {

inline void ExpectSound(const Camera& camera) {
  Expect(camera.Width() > 0 && camera.Height() > 0, "a camera has pixels");
  const std::string text = FormatCamera(camera);
  Expect(ParseCamera(ParseToml(text, kName), kName) == camera, "what is written reads back: " + text);
}

}  // namespace lumen::fuzz
