// Loss curves as a picture (SVG): one line per column of a CSV file over its first column.
#pragma once

#include <filesystem>

namespace lumen {

// Draws every numeric column but the first (on a logarithmic axis, smoothed) against the first.
void SaveCurves(const std::filesystem::path& csv, const std::filesystem::path& svg);

}  // namespace lumen
