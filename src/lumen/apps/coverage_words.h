// How complete an examination was: in words, as JSON, drawn, and written to a folder.
#pragma once

#include <filesystem>

#include "lumen/base/json.h"
#include "lumen/coverage/coverage.h"
#include "lumen/io/coverage_mesh.h"
#include "lumen/viewer/coverage_layer.h"

namespace lumen {

// One number within words: Numbered("%.1f cm", 2.1).
std::string Numbered(const char* format, double value);

// "68 ± 4 % of the wall were seen …", then a line for each of the largest spots.
std::vector<std::string> DescribeCoverage(const WallCoverage& coverage, size_t most_spots);
// "behind a fold, 2.1 cm in, 1.4 cm² were not seen: …"
std::string SpotInWords(const MissedSpot& spot, const WallCoverage& coverage);
// A length along a way: "2.1 cm", or "1.3 widths".
std::string LengthInWords(double length, const WallCoverage& coverage, int way);

Json CoverageToJson(const WallCoverage& coverage);
// The flat maps of all ways, one below the other, with stretches and spots, as SVG.
std::string DrawCoverage(const WallCoverage& coverage);

namespace coverage_file {
inline constexpr const char* kJson = "coverage.json";
inline constexpr const char* kSpots = "coverage_spots.csv";
inline constexpr const char* kMap = "coverage_map.svg";
inline constexpr const char* kMesh =
    "coverage.ply";  // coloured; coverage_mesh.obj is the same as C3VD has it
}  // namespace coverage_file
// What is of some way, with whether it was seen.
CoverageMesh AsCoverageMesh(const WallCoverage& coverage);
// The files above and coverage_mesh.obj.
void SaveCoverage(const std::filesystem::path& folder, const WallCoverage& coverage);

// For the page, with the surface it was measured on.
ViewCoverage ShowCoverage(const WallCoverage& coverage, const TriangleMesh& surface, int threads);

}  // namespace lumen
