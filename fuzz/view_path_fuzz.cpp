// The paths that are asked of a viewed run, each line one.
#include "fuzz/fuzz.h"
#include "fuzz/served_run.h"
#include "lumen/base/text.h"

namespace lumen::fuzz {
namespace {

void ReadPaths(const std::string& input) {
  for (const std::string& path : Split(input, '\n')) {
    const auto file = ServedRun().Find(path);
    Expect(!file || !file->type.empty(), "what is served says what it is");
  }
}

const Registration kTarget("view_path", ReadPaths, [] { ServedRun(); });

}  // namespace
}  // namespace lumen::fuzz
