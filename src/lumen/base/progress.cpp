#include "lumen/base/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <iostream>

#include "lumen/base/log.h"
#include "lumen/base/text.h"

namespace lumen {

namespace {
constexpr int kBarWidth = 28;
constexpr double kTerminalPeriodMs = 100;
constexpr double kPlainPeriodMs = 10000;  // a log file wants few lines
}  // namespace

ProgressBar::ProgressBar(std::string title, int64_t total)
    : title_(std::move(title)), total_(total), terminal_(::isatty(STDERR_FILENO) != 0) {}

// What failed before it began is told in a line of its own.
ProgressBar::~ProgressBar() {
  if (done_ > 0 || std::uncaught_exceptions() == 0) Finish();
}

void ProgressBar::Update(int64_t done, const std::string& note) {
  done_ = done;
  note_ = note;
  const double period_ms = terminal_ ? kTerminalPeriodMs : kPlainPeriodMs;
  if (!terminal_ && last_drawn_ms_ < 0) last_drawn_ms_ = 0;  // a quick job prints its last line only
  if (watch_.ElapsedMs() - last_drawn_ms_ < period_ms) return;
  Draw();
}

void ProgressBar::Finish() {
  if (finished_) return;
  finished_ = true;
  Draw();
  if (terminal_ && GetLogLevel() <= LogLevel::kInfo) std::cerr << '\n';
}

void ProgressBar::Draw() {
  if (GetLogLevel() > LogLevel::kInfo) return;
  last_drawn_ms_ = watch_.ElapsedMs();
  const double seconds = watch_.ElapsedMs() / 1000.0;
  const double rate = seconds > 0 ? static_cast<double>(done_) / seconds : 0.0;
  char rate_text[32];
  std::snprintf(rate_text, sizeof(rate_text), "%.1f/s", rate);
  std::string line = StrCat(title_, " ");
  if (total_ > 0) {
    const double share = std::clamp(static_cast<double>(done_) / static_cast<double>(total_), 0.0, 1.0);
    const int full = static_cast<int>(share * kBarWidth);
    if (terminal_) line += StrCat("[", std::string(full, '='), std::string(kBarWidth - full, ' '), "] ");
    const double left = rate > 0 ? static_cast<double>(total_ - done_) / rate : 0.0;
    line += StrCat(done_, "/", total_, " ", rate_text, finished_ ? " in " : " left ",
                   FormatDuration(finished_ ? seconds : left));
  } else {
    line += StrCat(done_, " ", rate_text, " ", FormatDuration(seconds));
  }
  if (!note_.empty()) line += StrCat("  ", note_);
  if (terminal_) {
    std::cerr << "\r\x1b[2K" << line << std::flush;
  } else {
    std::cerr << line << '\n';
  }
}

std::string FormatDuration(double seconds) {
  const auto total = std::llround(std::max(0.0, seconds));
  char buffer[32];
  if (total >= 3600) {
    std::snprintf(buffer, sizeof(buffer), "%lld:%02lld:%02lld", total / 3600, total / 60 % 60, total % 60);
  } else {
    std::snprintf(buffer, sizeof(buffer), "%lld:%02lld", total / 60, total % 60);
  }
  return buffer;
}

}  // namespace lumen
