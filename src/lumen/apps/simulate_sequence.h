// Writes a simulated video with its truth as a sequence folder.
#pragma once

#include <filesystem>
#include <string>

#include "lumen/sim/sequence.h"

namespace lumen {

// The folder must be absent or empty. Frames are rendered on `options.threads` threads.
void WriteSimulatedSequence(const SequenceOptions& options, const std::string& name,
                            const std::filesystem::path& output, bool with_model);

}  // namespace lumen
