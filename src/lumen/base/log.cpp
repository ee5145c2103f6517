#include "lumen/base/log.h"

#include <atomic>

#ifdef LUMEN_HAVE_SPDLOG
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#else
#include <cstdio>
#endif

namespace lumen {

namespace {
std::atomic<LogLevel> current_level{LogLevel::kInfo};
}  // namespace

void SetLogLevel(LogLevel level) { current_level = level; }
LogLevel GetLogLevel() { return current_level; }

namespace internal {

#ifdef LUMEN_HAVE_SPDLOG

namespace {

spdlog::logger& Logger() {
  static const auto logger = [] {
    auto made =
        std::make_shared<spdlog::logger>("lumen", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("%^%l%$ %v");
    made->set_level(spdlog::level::trace);  // filtered before it gets here
    return made;
  }();
  return *logger;
}

}  // namespace

void WriteLog(LogLevel level, const std::string& line) {
  switch (level) {
    case LogLevel::kDebug:
      Logger().debug("{}", line);
      break;
    case LogLevel::kInfo:
      Logger().info("{}", line);
      break;
    case LogLevel::kWarning:
      Logger().warn("{}", line);
      break;
    case LogLevel::kError:
      Logger().error("{}", line);
      break;
    case LogLevel::kOff:
      break;
  }
}

#else

void WriteLog(LogLevel level, const std::string& line) {
  static constexpr const char* kNames[] = {"debug", "info", "warning", "error", ""};
  std::fprintf(stderr, "%s %s\n", kNames[static_cast<int>(level)], line.c_str());
}

#endif

}  // namespace internal

}  // namespace lumen
