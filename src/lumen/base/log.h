// Logging: one line per event, to stderr, so that stdout stays free for results.
// spdlog does the work where it is installed; without it a plain writer does.
#pragma once

#include <string>

#include "lumen/base/text.h"

namespace lumen {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

void SetLogLevel(LogLevel level);
LogLevel GetLogLevel();

namespace internal {
void WriteLog(LogLevel level, const std::string& line);
}  // namespace internal

template <typename... Args>
void Log(LogLevel level, const Args&... args) {
  if (level >= GetLogLevel()) internal::WriteLog(level, StrCat(args...));
}
template <typename... Args>
void LogDebug(const Args&... args) {
  Log(LogLevel::kDebug, args...);
}
template <typename... Args>
void LogInfo(const Args&... args) {
  Log(LogLevel::kInfo, args...);
}
template <typename... Args>
void LogWarning(const Args&... args) {
  Log(LogLevel::kWarning, args...);
}
template <typename... Args>
void LogError(const Args&... args) {
  Log(LogLevel::kError, args...);
}

}  // namespace lumen
