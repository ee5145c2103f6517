// Both readers of TOML: toml++, where it is there, and the plain one.
#include "fuzz/fuzz.h"
#include "lumen/base/error.h"
#include "lumen/base/text.h"
#include "lumen/base/toml.h"

namespace lumen::fuzz {
namespace {

void ExpectRoundTrip(const TomlTable& table, TomlTable (*parse)(std::string_view, const std::string&)) {
  for (const auto& [key, value] : table) {
    const std::string text = FormatToml(value);
    const TomlTable again = parse("value = " + text + "\n", kName);
    Expect(again.size() == 1 && FormatToml(again.begin()->second) == text, "a value reads back: " + text);
  }
}

void ReadToml(const std::string& input) {
  try {
    ExpectRoundTrip(ParseTomlPlain(input, kName), ParseTomlPlain);
  } catch (const InputError&) {
    // It reads a part of TOML only; the other decides.
  }
  ExpectRoundTrip(ParseToml(input, kName), ParseToml);
}

const Registration kTarget("toml", ReadToml);

}  // namespace
}  // namespace lumen::fuzz
