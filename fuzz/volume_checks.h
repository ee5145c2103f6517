// What holds of every volume that was read.
#pragma once

#include <algorithm>
#include <cmath>

#include "fuzz/fuzz.h"
#include "lumen/io/volume_file.h"

namespace lumen::fuzz {

inline void ExpectSound(const Volume& volume) {
  Expect(volume.size.minCoeff() > 0, "a volume has voxels");
  Expect(volume.values.size() == static_cast<size_t>(volume.size.x()) * static_cast<size_t>(volume.size.y()) *
                                     static_cast<size_t>(volume.size.z()),
         "a volume has as many voxels as its size says");
  Expect(std::all_of(volume.values.begin(), volume.values.end(), [](float v) { return std::isfinite(v); }),
         "voxels are numbers");
  Expect(volume.lps_from_index.allFinite(), "a volume lies somewhere");
}

}  // namespace lumen::fuzz
