// Pictures of any format this build can read: PNG always, JPEG and others where OpenCV is there.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lumen/image/image.h"

namespace lumen {

bool IsImageFile(const std::filesystem::path& path);  // by its ending
RgbImage LoadRgb(const std::filesystem::path& path);  // grey is spread to three channels
Mask LoadMask(const std::filesystem::path& path);     // any channel above half counts as content

// Bytes of a compressed picture; what comes back is checked to be whole. `name` is for messages.
RgbImage DecodeRgb(const std::string& bytes, const std::string& name);

}  // namespace lumen
