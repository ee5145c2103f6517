// How complete a run was, measured from its folder.
#pragma once

#include <atomic>
#include <filesystem>
#include <optional>

#include "lumen/coverage/coverage.h"
#include "lumen/geometry/sim3.h"
#include "lumen/io/run_folder.h"

namespace lumen {

// Of the run's own surface; `ways` are empty where there is none, or the path hardly moves. The camera of a
// run without depth is not known: throws InputError.
// Throws CoverageStopped soon after `stop` is set: a long run's depth maps take a while to read.
WallCoverage MeasureRunCoverage(const RunFolder& run, const CoverageOptions& options, int threads,
                                const std::atomic<bool>* stop = nullptr);
struct CoverageStopped {};

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

// The cavity of the CT that it lies in; -1: it does not say.
int RegisteredCavity(const std::filesystem::path& registration);

// Millimetres to the unit as `lumen coverage` was told for this run; 0: it was not.
double ToldMillimetres(const RunFolder& run);

}  // namespace lumen
