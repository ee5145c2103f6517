// Scoped timers that add up per name, and a table of where the time went.
//   StageTimes times;  { ScopedTimer timer(times, "track"); … }  std::cout << times.Table();
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace lumen {

struct StageTime {
  int64_t count = 0;
  double total_ms = 0;
  double max_ms = 0;
  double MeanMs() const { return count == 0 ? 0.0 : total_ms / static_cast<double>(count); }
};

// Thread-safe: stages of a threaded pipeline share one table.
class StageTimes {
 public:
  void Add(const std::string& stage, double ms);
  std::map<std::string, StageTime> Get() const;
  std::string Table() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, StageTime> stages_;
};

class Stopwatch {
 public:
  double ElapsedMs() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class ScopedTimer {
 public:
  ScopedTimer(StageTimes& times, std::string stage) : times_(times), stage_(std::move(stage)) {}
  ~ScopedTimer() { times_.Add(stage_, watch_.ElapsedMs()); }
  ScopedTimer(const ScopedTimer&) = delete;
  ScopedTimer& operator=(const ScopedTimer&) = delete;

 private:
  StageTimes& times_;
  std::string stage_;
  Stopwatch watch_;
};

}  // namespace lumen
