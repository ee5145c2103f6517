// PNG files through libpng, 8 and 16 bits. Anything wrong in a file throws InputError with its path.
#pragma once

#include <filesystem>

#include "lumen/image/image.h"

namespace lumen {

// One or three channels; palettes are expanded, alpha is dropped, 16 bits are cut to 8.
Image<uint8_t> LoadPng8(const std::filesystem::path& path);
// One channel, exactly as stored; 8-bit files are refused.
Image<uint16_t> LoadPng16(const std::filesystem::path& path);

// Written to a temporary and renamed, so that a crash leaves no half file.
void SavePng(const std::filesystem::path& path, ImageView<const uint8_t> image);
void SavePng(const std::filesystem::path& path, ImageView<const uint16_t> image);

// The same to and from memory; `name` is for messages.
Image<uint8_t> DecodePng8(const std::string& bytes, const std::string& name);
std::string EncodePng(ImageView<const uint8_t> image);

}  // namespace lumen
