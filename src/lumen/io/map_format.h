// What the writer and the reader of maps (map_file.h) agree upon.
#pragma once

#include <cstdint>
#include <string>

#include "lumen/base/text.h"
#include "lumen/scene/map.h"

namespace lumen {

// 2 had pinholes alone; 1 all pictures as single precision, none retired.
inline constexpr int64_t kMapFormat = 3, kOldestMapFormat = 1;

inline std::string KeyframeGroup(KeyframeId id) { return StrCat("keyframe", id); }

}  // namespace lumen
