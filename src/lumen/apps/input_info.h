// What an input is, in a few lines: which data set it belongs to, its frames, lens and truth.
#pragma once

#include <ostream>

#include "lumen/io/frame_source.h"

namespace lumen {

// A folder that holds several sequences of a data set is listed instead. Throws InputError like OpenInput.
void DescribeInput(const std::filesystem::path& input, const InputOptions& options, std::ostream& out);

}  // namespace lumen
