#include "lumen/igtl/link_peer.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "lumen/base/error.h"
#include "lumen/igtl/messages.h"
#include "lumen/igtl/navigation_link.h"

namespace lumen {

namespace {
// When the link ends, what is on its way may still get there.
constexpr std::chrono::milliseconds kGoodbye(500);
constexpr size_t Index(LinkItem item) { return static_cast<size_t>(item); }
}  // namespace

LinkPeer::LinkPeer(LinkBoard& board, Socket socket, std::chrono::milliseconds patience)
    : board_(board), socket_(std::move(socket)), patience_(patience) {
  board_.Add(&wake_);
  // Who comes is told where things stand, but no pose that may be long past.
  const auto versions = board_.Versions();
  for (const LinkItem item : {LinkItem::kTransform, LinkItem::kTracking, LinkItem::kPicture})
    sent_[Index(item)] = versions[Index(item)];
}

LinkPeer::~LinkPeer() { board_.Remove(&wake_); }

void LinkPeer::TakeRequest(const LinkAsked& asked) {
  const auto ask = [&](LinkItem item) { asked_[Index(item)] = true; };
  switch (asked.what) {
    case LinkRequest::kStatus:
      return ask(LinkItem::kStatus);
    case LinkRequest::kTransform:
      return ask(LinkItem::kTransform);
    case LinkRequest::kPicture:
      return ask(LinkItem::kPicture);
    case LinkRequest::kSurface:
      return ask(LinkItem::kSurface);
    case LinkRequest::kText:
      ask(LinkItem::kMachineText);
      return ask(LinkItem::kText);
    case LinkRequest::kCapability:
      capability_ = true;
      return;
    case LinkRequest::kStartTracking:
      tracking_ = tracking_answer_ = true;
      tracking_pace_ = std::chrono::milliseconds(asked.resolution_ms);
      tracking_due_ = Clock::now();
      return;
    case LinkRequest::kStopTracking:
      tracking_ = false;
      return;
  }
}

bool LinkPeer::Receive() {
  std::array<char, 4096> part;
  const ssize_t count = ::recv(socket_.Descriptor(), part.data(), part.size(), 0);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  for (const LinkAsked& asked : reader_.Add({part.data(), static_cast<size_t>(count)})) TakeRequest(asked);
  return count > 0;
}

bool LinkPeer::Send() {
  const ssize_t count = ::send(socket_.Descriptor(), out_->data() + out_sent_, out_->size() - out_sent_,
                               MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  out_sent_ += static_cast<size_t>(count);
  out_moved_ = Clock::now();
  if (out_sent_ == out_->size()) out_ = nullptr;
  return true;
}

bool LinkPeer::Wants(LinkItem item, uint64_t version) const {
  if (asked_[Index(item)]) return true;
  if (version == sent_[Index(item)]) return false;
  if (item == LinkItem::kPicture) return false;
  if (item == LinkItem::kTracking) return tracking_ && Clock::now() >= tracking_due_;
  return true;
}

bool LinkPeer::PickNext() {
  const auto take = [&](std::string bytes) {
    out_ = std::make_shared<const std::string>(std::move(bytes));
    out_sent_ = 0;
    out_moved_ = Clock::now();
    return true;
  };
  if (std::exchange(tracking_answer_, false)) return take(PackTrackingAnswer(link_name::kDevice, LinkNow()));
  if (std::exchange(capability_, false))
    return take(PackCapability(link_name::kDevice, LinkMessageTypes(), LinkNow()));
  const auto versions = board_.Versions();
  for (size_t i = 0; i < kLinkItems; ++i) {
    const auto item = static_cast<LinkItem>(i);
    if (!Wants(item, versions[i])) continue;
    LinkBoard::Note note = board_.Get(item);
    sent_[i] = note.version;
    if (note.bytes == nullptr && note.picture == nullptr)
      continue;  // what was asked for comes once it is there
    asked_[i] = false;
    if (item == LinkItem::kTracking) tracking_due_ = Clock::now() + tracking_pace_;
    if (note.picture != nullptr) return take(PackPicture(link_name::kPicture, *note.picture, note.time));
    out_ = std::move(note.bytes);
    out_sent_ = 0;
    out_moved_ = Clock::now();
    return true;
  }
  return false;
}

int LinkPeer::PollTime() const {
  const auto until = [](Clock::time_point when) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(when - Clock::now()).count();
    return static_cast<int>(std::clamp<int64_t>(left, 0, 1000));
  };
  if (out_ != nullptr) return until(out_moved_ + patience_);
  const bool waits =
      tracking_ && board_.Get(LinkItem::kTracking).version != sent_[Index(LinkItem::kTracking)];
  return waits ? until(tracking_due_) : -1;
}

std::string LinkPeer::Run(const std::atomic<bool>& stop) try {
  Clock::time_point end = Clock::time_point::max();
  while (true) {
    if (out_ == nullptr) PickNext();
    if (stop) {
      end = std::min(end, Clock::now() + kGoodbye);
      if (out_ == nullptr || Clock::now() >= end) return "the run is over";
    }
    const short events = out_ == nullptr ? POLLIN : POLLIN | POLLOUT;
    std::array<pollfd, 2> waiting = {pollfd{socket_.Descriptor(), events, 0},
                                     pollfd{wake_.Descriptor(), POLLIN, 0}};
    const int most = stop ? static_cast<int>(kGoodbye.count()) : PollTime();
    ::poll(waiting.data(), waiting.size(), most);
    if (waiting[1].revents != 0) wake_.Hear();
    if ((waiting[0].revents & (POLLIN | POLLERR | POLLHUP)) != 0 && !Receive()) return "it is gone";
    if (out_ == nullptr) continue;
    if ((waiting[0].revents & POLLOUT) != 0 && !Send()) return "it is gone";
    if (out_ != nullptr && Clock::now() >= out_moved_ + patience_)
      return StrCat("it took nothing for ", patience_.count() / 1000.0, " s");
  }
} catch (const std::exception& error) {  // no OpenIGTLink, or too little memory for what was asked
  return error.what();
}

}  // namespace lumen
