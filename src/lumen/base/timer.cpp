#include "lumen/base/timer.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

namespace lumen {

void StageTimes::Add(const std::string& stage, double ms) {
  const std::lock_guard lock(mutex_);
  StageTime& time = stages_[stage];
  ++time.count;
  time.total_ms += ms;
  time.max_ms = std::max(time.max_ms, ms);
}

std::map<std::string, StageTime> StageTimes::Get() const {
  const std::lock_guard lock(mutex_);
  return stages_;
}

std::string StageTimes::Table() const {
  std::ostringstream table;
  table.exceptions(std::ios::badbit);
  table << std::left << std::setw(28) << "stage" << std::right << std::setw(8) << "count" << std::setw(12)
        << "mean ms" << std::setw(12) << "max ms" << std::setw(12) << "total ms" << '\n';
  table << std::fixed << std::setprecision(2);
  for (const auto& [stage, time] : Get()) {
    table << std::left << std::setw(28) << stage << std::right << std::setw(8) << time.count << std::setw(12)
          << time.MeanMs() << std::setw(12) << time.max_ms << std::setw(12) << time.total_ms << '\n';
  }
  return table.str();
}

}  // namespace lumen
