// What a client sends, bytes in, requests out. Bounded whatever comes: a header says how much follows before
// anything is kept, what we do not know is passed over unread, and what cannot be a message ends it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lumen {

enum class LinkRequest {
  kStatus,
  kTransform,
  kPicture,
  kSurface,
  kText,
  kCapability,
  kStartTracking,
  kStopTracking,
};

struct LinkAsked {
  LinkRequest what = LinkRequest::kStatus;
  int resolution_ms = 0;  // of kStartTracking: no oftener than that
};

class RequestReader {
 public:
  // Whole requests among what came so far. Throws InputError where it is no OpenIGTLink, or damaged: nothing
  // that comes after it can be understood.
  std::vector<LinkAsked> Add(std::string_view bytes);

 private:
  std::string pending_;     // the beginning of a message
  uint64_t pass_over_ = 0;  // bytes of one that is not for us
};

}  // namespace lumen
