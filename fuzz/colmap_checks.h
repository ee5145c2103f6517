// What holds of every COLMAP model that was read.
#pragma once

#include <cmath>

#include "fuzz/fuzz.h"
#include "lumen/io/colmap_model.h"

namespace lumen::fuzz {

inline void ExpectSound(const ColmapModel& model) {
  Expect(!model.views.empty(), "a model has images");
  for (const ColmapView& view : model.views) {
    Expect(view.world_from_camera.Matrix().allFinite(), "poses are finite");
    for (const SparsePoint& point : view.points) {
      Expect(point.uv.allFinite() && std::isfinite(point.depth) && std::isfinite(point.error),
             "points are finite");
      Expect(point.depth > 0 && point.track_length >= 0, "points lie before the camera");
    }
  }
}

}  // namespace lumen::fuzz
