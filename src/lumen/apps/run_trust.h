// What a run is worth, in a few sentences: what whoever opens its report reads first.
#pragma once

#include <string>
#include <vector>

#include "lumen/io/run_folder.h"

namespace lumen {

// How many frames were placed and when the camera was lost; how many of the placed ones are in doubt, and
// when. Empty if the run does not tell of its frames.
std::vector<std::string> DescribeTrust(const RunFolder& run);

}  // namespace lumen
