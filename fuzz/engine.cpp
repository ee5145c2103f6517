// libFuzzer's way into the one target that is linked with this. What the target throws ends the process: that
// is how libFuzzer hears of a find.
#include <cstddef>
#include <cstdint>

#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  if (const auto prepare = lumen::fuzz::Targets().front().prepare) prepare();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace lumen::fuzz;
  Run(Targets().front(), std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
