#include "fuzz/fuzz.h"
#include "lumen/base/json.h"

namespace lumen::fuzz {
namespace {

void ReadJson(const std::string& input) {
  const Json json = Json::Parse(input, kName);
  for (const int indent : {-1, 2}) {
    const std::string text = json.Dump(indent);
    Expect(Json::Parse(text, kName).Dump(indent) == text, "what is written reads back: " + text);
  }
}

const Registration kTarget("json", ReadJson);

}  // namespace
}  // namespace lumen::fuzz
