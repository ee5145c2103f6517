// One GPU for all runs that this program starts side by side: their frames go through its networks together.
#pragma once

#include <memory>

#include "lumen/apps/run_setup.h"

namespace lumen {

class SharedGpu {
 public:
  virtual ~SharedGpu() = default;  // says how many frames were computed together
};

// For as long as it lives, programs started from here find the networks of the run's model by themselves.
// Null where there is nothing to share: no GPU, results that are to repeat, or one run at a time.
std::unique_ptr<SharedGpu> ShareGpu(const RunOptions& run, const std::filesystem::path& model, int at_once);

}  // namespace lumen
