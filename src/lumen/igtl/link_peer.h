// One who is connected, on the thread that calls Run: sends what is new on the board, one message after the
// other, and answers what is asked.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <string>

#include "lumen/igtl/link_board.h"
#include "lumen/igtl/link_socket.h"
#include "lumen/igtl/request_reader.h"

namespace lumen {

class LinkPeer {
 public:
  LinkPeer(LinkBoard& board, Socket socket, std::chrono::milliseconds patience);
  ~LinkPeer();
  LinkPeer(const LinkPeer&) = delete;
  LinkPeer& operator=(const LinkPeer&) = delete;

  // Until the other side is gone or stuck, sends what is no OpenIGTLink, or `stop` is set and the board
  // rings. Returns why, in words.
  std::string Run(const std::atomic<bool>& stop);

 private:
  using Clock = std::chrono::steady_clock;
  void TakeRequest(const LinkAsked& asked);
  bool Receive();   // false: gone
  bool Send();      // as much as there is room for; false: gone
  bool PickNext();  // the next message into out_; false: there is none
  bool Wants(LinkItem item, uint64_t version) const;
  int PollTime() const;  // in ms; -1: until something happens

  LinkBoard& board_;
  Socket socket_;
  std::chrono::milliseconds patience_;
  WakeUp wake_;
  RequestReader reader_;
  std::array<uint64_t, kLinkItems> sent_{};  // versions
  std::array<bool, kLinkItems> asked_{};     // to be sent even if it is not new
  bool tracking_ = false;                    // whether it is wanted
  std::chrono::milliseconds tracking_pace_{0};
  Clock::time_point tracking_due_;
  bool tracking_answer_ = false, capability_ = false;
  std::shared_ptr<const std::string> out_;  // what is being sent
  size_t out_sent_ = 0;
  Clock::time_point out_moved_;
};

}  // namespace lumen
