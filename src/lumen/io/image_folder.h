// A plain folder of images, in the natural order of their names (2 before 10).
#pragma once

#include <memory>

#include "lumen/io/frame_source.h"

namespace lumen {

std::unique_ptr<FrameSource> OpenImageFolder(const std::filesystem::path& folder);

}  // namespace lumen
