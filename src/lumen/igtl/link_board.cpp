#include "lumen/igtl/link_board.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "lumen/base/error.h"

namespace lumen {

WakeUp::WakeUp() : descriptor_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (descriptor_ < 0) throw InputError("OpenIGTLink: no descriptors are left");
}

WakeUp::~WakeUp() { ::close(descriptor_); }

void WakeUp::Ring() {
  if (rung_.exchange(true)) return;
  const uint64_t one = 1;
  // It can fail only where it already rings.
  [[maybe_unused]] const ssize_t written = ::write(descriptor_, &one, sizeof(one));
}

void WakeUp::Hear() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(descriptor_, &count, sizeof(count));
  rung_ = false;  // after the read: what rings from now on is heard
}

void LinkBoard::Put(std::initializer_list<std::pair<LinkItem, Note>> notes) {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [item, note] : notes) {
      Note& place = notes_[static_cast<size_t>(item)];
      const uint64_t version = place.version + 1;
      place = note;
      place.version = version;
    }
  }
  if (bell_ != nullptr)
    bell_->Ring();
  else
    Ring();
}

LinkBoard::Note LinkBoard::Get(LinkItem item) const {
  const std::lock_guard lock(mutex_);
  return notes_[static_cast<size_t>(item)];
}

std::array<uint64_t, kLinkItems> LinkBoard::Versions() const {
  const std::lock_guard lock(mutex_);
  std::array<uint64_t, kLinkItems> versions{};
  for (size_t i = 0; i < kLinkItems; ++i) versions[i] = notes_[i].version;
  return versions;
}

void LinkBoard::Add(WakeUp* reader) {
  const std::lock_guard lock(readers_mutex_);
  readers_.push_back(reader);
}

void LinkBoard::Remove(WakeUp* reader) {
  const std::lock_guard lock(readers_mutex_);
  std::erase(readers_, reader);
}

void LinkBoard::Ring() const {
  const std::lock_guard lock(readers_mutex_);
  for (WakeUp* reader : readers_) reader->Ring();
}

}  // namespace lumen
