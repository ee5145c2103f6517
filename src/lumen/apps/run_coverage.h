// How complete a run was: measured from its folder, told in words, drawn, and written beside it.
#pragma once

#include <filesystem>
#include <optional>

#include "lumen/base/json.h"
#include "lumen/coverage/coverage.h"
#include "lumen/geometry/sim3.h"
#include "lumen/io/run_folder.h"

namespace lumen {

// Of the run's own surface; `ways` are empty where there is none, or the path hardly moves. The camera of a
// run without depth is not known: throws InputError.
WallCoverage MeasureRunCoverage(const RunFolder& run, const CoverageOptions& options, int threads);

// Of a wall known as a whole, a CT's, that the run was registered to; in the wall's unit, which is
// millimetres.
struct RegisteredWall {
  TriangleMesh wall;
  Sim3 wall_from_run;
  double residual = 0;  // mean distance of the run's surface from it
};
WallCoverage MeasureCtCoverage(const RunFolder& run, const RegisteredWall& registered,
                               CoverageOptions options, int threads);
// What `lumen register` wrote into a folder, and the model it was given. Throws InputError if it is not
// registered.
RegisteredWall LoadRegisteredWall(const std::filesystem::path& registration, TriangleMesh model);

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
// The files above and coverage_mesh.obj.
void SaveCoverage(const std::filesystem::path& folder, const WallCoverage& coverage);

}  // namespace lumen
