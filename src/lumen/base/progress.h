// A progress bar on stderr: live on a terminal, a few plain lines elsewhere, silent when told so.
#pragma once

#include <cstdint>
#include <string>

#include "lumen/base/timer.h"

namespace lumen {

class ProgressBar {
 public:
  // total <= 0: unknown, only counts are shown.
  ProgressBar(std::string title, int64_t total);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void Update(int64_t done, const std::string& note = "");
  void Finish();

 private:
  void Draw();

  std::string title_;
  int64_t total_;
  int64_t done_ = 0;
  std::string note_;
  bool terminal_;
  bool finished_ = false;
  double last_drawn_ms_ = -1e9;
  Stopwatch watch_;
};

// Seconds as "1:23" or "1:02:03".
std::string FormatDuration(double seconds);

}  // namespace lumen
