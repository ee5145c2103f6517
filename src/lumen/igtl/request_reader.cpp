#include "lumen/igtl/request_reader.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "lumen/base/error.h"
#include "lumen/igtl/messages.h"

namespace lumen {

namespace {

// A header: version (2 bytes), type (12), device (20), time (8), size of the body (8), its CRC (8).
constexpr size_t kHeaderBytes = 58;
constexpr size_t kTypeAt = 2, kTypeBytes = 12, kSizeAt = 42, kCrcAt = 50;
constexpr uint64_t kNewestVersion = 3;
constexpr uint64_t kMostRequestBytes = 4096;             // requests have 36, and what newer versions add
constexpr uint64_t kMostPassedOver = uint64_t{1} << 30;  // somebody else's volumes

uint64_t BigEndian(std::string_view bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = at; i < at + count; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::string TypeOf(std::string_view header) {
  std::string_view type = header.substr(kTypeAt, kTypeBytes);
  const size_t end = std::min(type.find('\0'), type.size());
  const std::string_view name = type.substr(0, end);
  const auto known = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
  if (name.empty() || !std::all_of(name.begin(), name.end(), known))
    throw InputError("what it sends is not OpenIGTLink");
  return std::string(name);
}

std::optional<LinkRequest> RequestOf(const std::string& type) {
  static const std::map<std::string, LinkRequest> known = {
      {"GET_STATUS", LinkRequest::kStatus},      {"GET_TRANS", LinkRequest::kTransform},
      {"GET_TRANSFOR", LinkRequest::kTransform}, {"GET_IMAGE", LinkRequest::kPicture},
      {"GET_POLYDATA", LinkRequest::kSurface},   {"GET_STRING", LinkRequest::kText},
      {"GET_CAPABIL", LinkRequest::kCapability}, {"STT_TDATA", LinkRequest::kStartTracking},
      {"STP_TDATA", LinkRequest::kStopTracking},
  };
  const auto found = known.find(type);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

// From version 2 on a body begins with a header of its own, and metadata may follow.
std::string_view ContentOf(std::string_view body, uint64_t version) {
  constexpr size_t least = 12;
  if (version < 2 || body.size() < least) return body;
  const uint64_t before = BigEndian(body, 0, 2);
  const uint64_t after = BigEndian(body, 2, 2) + BigEndian(body, 4, 4);
  if (before < least || before + after > body.size()) throw InputError("a message contradicts itself");
  return body.substr(before, body.size() - before - after);
}

int ResolutionIn(std::string_view content) {
  if (content.size() < 4) return 0;
  const auto told = static_cast<int32_t>(static_cast<uint32_t>(BigEndian(content, 0, 4)));
  return std::max(0, told);
}

}  // namespace

std::vector<LinkAsked> RequestReader::Add(std::string_view bytes) {
  std::vector<LinkAsked> asked;
  const auto fill_to = [&](size_t size) {
    if (pending_.size() >= size) return true;
    const size_t count = std::min(size - pending_.size(), bytes.size());
    pending_ += bytes.substr(0, count);
    bytes.remove_prefix(count);
    return pending_.size() >= size;
  };
  while (true) {
    const auto passed = static_cast<size_t>(std::min<uint64_t>(pass_over_, bytes.size()));
    bytes.remove_prefix(passed);
    pass_over_ -= passed;
    if (pass_over_ > 0 || !fill_to(kHeaderBytes)) return asked;

    const uint64_t version = BigEndian(pending_, 0, 2);
    const std::string type = TypeOf(pending_);
    const std::optional<LinkRequest> request = RequestOf(type);
    const uint64_t size = BigEndian(pending_, kSizeAt, 8);
    if (version == 0 || version > kNewestVersion) throw InputError("what it sends is not OpenIGTLink");
    if (size > (request ? kMostRequestBytes : kMostPassedOver))
      throw InputError(StrCat("it announces a ", type, " of ", size, " bytes"));
    if (!request) {
      pass_over_ = size;
      pending_.clear();
      continue;
    }
    if (!fill_to(kHeaderBytes + static_cast<size_t>(size))) return asked;
    const std::string_view body = std::string_view(pending_).substr(kHeaderBytes);
    if (size > 0 && MessageCrc(body) != BigEndian(pending_, kCrcAt, 8))
      throw InputError(StrCat("the checksum of a ", type, " is wrong"));
    const std::string_view content = ContentOf(body, version);
    asked.push_back({*request, *request == LinkRequest::kStartTracking ? ResolutionIn(content) : 0});
    pending_.clear();
  }
}

}  // namespace lumen
