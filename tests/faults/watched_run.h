// What a run that is going to be killed tells the test about itself, in a file that both map: which frames
// were handed to the recorder, and when.
#pragma once

#include <atomic>
#include <cstdint>

namespace lumen {

struct RunDiary {
  static constexpr int kMost = 4096;
  std::atomic<int32_t> frames;  // recorded so far
  int64_t number[kMost];        // of each
  int64_t at[kMost];            // when, in nanoseconds of the steady clock
  std::atomic<int64_t>
      longest_pause;  // of a thread that only wants to sleep for ten milliseconds: the machine's own
};

}  // namespace lumen
