// Writes a simulated video with its truth as a sequence folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "lumen/sim/body.h"
#include "lumen/sim/sequence.h"

namespace lumen {

struct SimulatedExtras {
  bool model = true;      // the surface
  bool coverage = false;  // what was seen of it, as coverage_mesh.obj; needs the surface
  std::optional<CtScanOptions> ct = std::nullopt;  // of the body around the organ
};

// How many frames were written. The folder must be absent or empty. Frames are rendered on `options.threads`
// threads.
int WriteSimulatedSequence(const SequenceOptions& options, const std::string& name,
                           const std::filesystem::path& output, const SimulatedExtras& extras);

}  // namespace lumen
