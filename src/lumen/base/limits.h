// How much Lumen takes in at most. What is larger is refused with a line that names the file: a damaged or
// hostile header must not ask for the machine's memory. Each bound is several times what the field has.
#pragma once

#include <cstdint>

namespace lumen::limits {

// A file that is read whole: images, tables, meshes, volumes. The largest real ones are CTs of 0.5 GB.
inline constexpr uint64_t kFileBytes = uint64_t{1} << 30;
// A file of text that is parsed: configurations, calibrations, headers. Ours are of kilobytes.
inline constexpr uint64_t kTextBytes = uint64_t{64} << 20;
// Brackets within brackets, in TOML, JSON and YAML. Parsers call themselves; ours have four.
inline constexpr int kNesting = 64;
// A picture: 8K video has 33 million pixels.
inline constexpr uint64_t kImagePixels = uint64_t{1} << 26;
// A volume's voxels: a CT of 512 x 512 x 1024, twice. They are kept as floats.
inline constexpr uint64_t kVoxels = uint64_t{1} << 28;
// Deflate makes of a byte 1032 at most: a header that asks for more than that many times its file lies.
inline constexpr uint64_t kDeflateRatio = 1032;

}  // namespace lumen::limits
