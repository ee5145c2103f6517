// Pictures whose pixels are numbers, as they are stored: depth maps in PNG or TIFF.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lumen {

struct NumberImage {
  int width = 0, height = 0, channels = 0;
  int bits = 0;               // of a stored number: 8, 16 or 32 (floating)
  std::vector<float> values;  // row by row, channels side by side, red first

  float At(int x, int y, int channel = 0) const {
    return values[(static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)) *
                      static_cast<size_t>(channels) +
                  static_cast<size_t>(channel)];
  }
};

NumberImage LoadNumberImage(const std::filesystem::path& path);
NumberImage DecodeNumberImage(const std::string& bytes, const std::string& name);
// Throws InputError, naming the file, unless it has that many bits and, unless 0, channels.
void RequireStored(const NumberImage& image, int bits, int channels, const std::string& name);

}  // namespace lumen
