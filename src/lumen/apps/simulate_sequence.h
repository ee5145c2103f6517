// Writes a simulated video with its truth as a sequence folder.
#pragma once

#include <filesystem>
#include <string>

#include "lumen/sim/sequence.h"

namespace lumen {

// How many frames were written. The folder must be absent or empty. Frames are rendered on `options.threads`
// threads.
int WriteSimulatedSequence(const SequenceOptions& options, const std::string& name,
                           const std::filesystem::path& output, bool with_model);

}  // namespace lumen
