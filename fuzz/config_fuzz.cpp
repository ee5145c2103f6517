// A configuration file, and its first lines as settings from the command line.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "lumen/apps/app_config.h"
#include "lumen/base/error.h"
#include "lumen/base/text.h"

namespace lumen::fuzz {
namespace {

void ReadConfig(const std::string& input) {
  const std::vector<std::string> lines = Split(input, '\n');
  constexpr size_t kSettings = 2;  // each asks every field whether it is meant
  for (size_t i = 0; i < std::min(lines.size(), kSettings); ++i) {
    try {
      AppConfig config;
      SetConfig(lines[i], config);
    } catch (const InputError&) {
      // A setting that is refused names itself, not a file.
    }
  }
  AppConfig config;
  LoadConfig(WriteScratch("config.toml", input), config);
  const std::string text = FormatConfig(config);
  AppConfig again;
  LoadConfig(WriteScratch("again.toml", text), again);
  Expect(FormatConfig(again) == text, "what is written reads back: " + text);
}

const Registration kTarget("config", ReadConfig);

}  // namespace
}  // namespace lumen::fuzz
