// What a browser, or somebody else, sends to the viewer's server. "LUMEN-HOST" stands for its address, which
// differs from run to run.
#include "fuzz/fuzz.h"
#include "fuzz/served_run.h"
#include "lumen/base/text.h"

namespace lumen::fuzz {
namespace {

void ReadRequests(const std::string& input) {
  constexpr std::string_view kHost = "LUMEN-HOST";
  std::string bytes = input;
  for (size_t at = bytes.find(kHost); at != std::string::npos; at = bytes.find(kHost, at))
    bytes.replace(at, kHost.size(), Visit::Host());
  Visit visit;
  visit.Send(bytes);
  const std::string answer = visit.Finish();
  Expect(answer.empty() || StartsWith(answer, "HTTP/1."), "an answer is one");
  ExpectItGoesOn();
}

const Registration kTarget("http", ReadRequests, [] { Visit::Host(); });

}  // namespace
}  // namespace lumen::fuzz
