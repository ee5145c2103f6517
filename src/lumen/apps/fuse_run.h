// A run's keyframes fused into a surface, in the run's own unit and frame.
#pragma once

#include "lumen/io/run_folder.h"
#include "lumen/surface/fusion.h"
#include "lumen/surface/gathered_depth.h"

namespace lumen {

// The depth maps whose keyframe has a place. Throws InputError where a run has no depth to fuse.
ViewList ListRunViews(const RunFolder& run);
// Depth maps as all keyframes together have them (see gathered_depth.h), twice as large where the pictures
// allow it, in place of those in the run's folder. Throws InputError where there are none.
void GatherRunDepth(const std::filesystem::path& run, const GatherOptions& options);
// Throws InputError if there is nothing to fuse.
FusionResult FuseRun(const RunFolder& run, const FusionOptions& options);
// The same with the depth maps gathered once more, at twice their size where the pictures allow it; the run's
// folder stays as it is.
FusionResult FuseRunFinely(const RunFolder& run, const FusionOptions& options, const GatherOptions& gather);
// FuseRun into the run's own folder.
void SaveRunSurface(const std::filesystem::path& run, const FusionOptions& options);
// Both at the end of a run, which is one without them, too: what stands in the way is said, no more.
void TryGatherRunDepth(const std::filesystem::path& run, const GatherOptions& options);
void TrySaveRunSurface(const std::filesystem::path& run, const FusionOptions& options);

}  // namespace lumen
