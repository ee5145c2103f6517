// What a client of the OpenIGTLink server sends: the same requests, or the same refusal, however the bytes
// are cut on their way.
#include "fuzz/fuzz.h"
#include "lumen/base/error.h"
#include "lumen/igtl/messages.h"
#include "lumen/igtl/request_reader.h"

namespace lumen::fuzz {
namespace {

struct Told {
  std::vector<LinkAsked> asked;
  std::string fault;
};

Told ReadInParts(std::string_view input, size_t part) {
  Told told;
  RequestReader reader;
  try {
    for (size_t at = 0; at < input.size(); at += part)
      for (const LinkAsked& each : reader.Add(input.substr(at, part))) told.asked.push_back(each);
  } catch (const InputError& error) {
    told.fault = error.what();
  }
  return told;
}

// Checksums as they should be, or nobody would ever get beyond them.
std::string WithChecksums(std::string input) {
  constexpr size_t header = 58, crc_at = 50, most = 4096;
  for (size_t at = 0; at + header <= input.size();) {
    const size_t size = static_cast<unsigned char>(input[at + crc_at - 2]) * 256U +
                        static_cast<unsigned char>(input[at + crc_at - 1]);
    if (size > most || at + header + size > input.size()) break;
    const uint64_t crc = MessageCrc(std::string_view(input).substr(at + header, size));
    for (size_t i = 0; i < 8; ++i) input[at + crc_at + i] = static_cast<char>(crc >> (56 - 8 * i));
    at += header + size;
  }
  return input;
}

void ReadRequests(const std::string& given) {
  const std::string input = WithChecksums(given);
  std::vector<LinkAsked> whole;
  try {
    RequestReader reader;
    whole = reader.Add(input);
  } catch (const InputError& error) {
    throw InputError(StrCat(kName, ": ", error.what()));  // the link names whom it lets go
  }
  for (const LinkAsked& each : whole) Expect(each.resolution_ms >= 0, "a resolution is a time");
  for (const size_t part : {size_t{1}, size_t{57}, size_t{4096}}) {
    const Told told = ReadInParts(input, part);
    Expect(told.fault.empty() && told.asked.size() == whole.size(), "a cut changes nothing");
    for (size_t i = 0; i < whole.size(); ++i)
      Expect(told.asked[i].what == whole[i].what && told.asked[i].resolution_ms == whole[i].resolution_ms,
             "a cut changes no request");
  }
}

const Registration kTarget("igtl", ReadRequests);

}  // namespace
}  // namespace lumen::fuzz
