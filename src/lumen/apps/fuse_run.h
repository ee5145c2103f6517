// A run's keyframes fused into a surface, in the run's own unit and frame.
#pragma once

#include "lumen/io/run_folder.h"
#include "lumen/surface/fusion.h"

namespace lumen {

// The depth maps whose keyframe has a place. Throws InputError where a run has no depth to fuse.
ViewList ListRunViews(const RunFolder& run);
// Throws InputError if there is nothing to fuse.
FusionResult FuseRun(const RunFolder& run, const FusionOptions& options);
// FuseRun into the run's own folder.
void SaveRunSurface(const std::filesystem::path& run, const FusionOptions& options);

}  // namespace lumen
