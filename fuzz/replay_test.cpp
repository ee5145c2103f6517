// Every seed and every find once more, without libFuzzer: what was mended stays mended.
#include <gtest/gtest.h>

#include "fuzz/fuzz.h"
#include "lumen/base/file.h"

namespace lumen::fuzz {
namespace {

namespace fs = std::filesystem;

class Replay : public ::testing::TestWithParam<Target> {};

TEST_P(Replay, KeepsTheContract) {
  const Target& target = GetParam();
  int read = 0;
  for (const char* kind : {"seeds", "finds"}) {
    const fs::path folder = fs::path(LUMEN_SOURCE_DIR) / "fuzz" / kind / target.name;
    if (!fs::is_directory(folder)) continue;
    for (const fs::path& file : ListFiles(folder))
      EXPECT_NO_THROW(read += fuzz::Run(target, ReadFile(file)) ? 1 : 0) << file;
  }
  // Seeds that are all refused lead nowhere; but no whole model is small enough to be one.
  if (target.name != "weights") {
    EXPECT_GT(read, 0) << "not one seed in fuzz/seeds/" << target.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Replay, ::testing::ValuesIn(Targets()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace lumen::fuzz
