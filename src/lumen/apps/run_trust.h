// What a run is worth, in a few sentences: what whoever opens its report reads first.
#pragma once

#include <string>
#include <vector>

#include "lumen/io/run_folder.h"

namespace lumen {

// How many frames were placed and when the camera was lost; how many of the placed ones are in doubt, and
// when. Empty if the run does not tell of its frames.
std::vector<std::string> DescribeTrust(const RunFolder& run);

// Shares of the frames that were lost, and of the placed ones that are in doubt.
struct RunTrust {
  double lost = 0, doubtful = 0;
  bool IsGood() const { return lost < 0.02 && doubtful < 0.05; }
};
RunTrust MeasureTrust(const RunFolder& run);

}  // namespace lumen
