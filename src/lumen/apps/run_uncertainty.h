// How sure a run is of its path, at its end: tables in its folder, and what they amount to.
#pragma once

#include "lumen/base/json.h"
#include "lumen/slam/slam_pipeline.h"

namespace lumen {

// Of the sub-map that the trajectories show. Returns what summary.json says of it.
Json SaveUncertainty(const std::filesystem::path& folder, const SlamPipeline& slam, const MapSnapshot& map);

}  // namespace lumen
