// A run as one page that can be mailed: what was reconstructed (to be turned by hand), the figures of the
// run, its path, its keyframes with their depth, and its grades where the truth is known.
#pragma once

#include <filesystem>
#include <string>

namespace lumen {

struct ReportOptions {
  std::filesystem::path truth;  // empty: the run's own input, where it has one and is still there
  int views = 36;               // of the turntable
  int keyframes = 8;            // shown
};

// Everything is inside the page: nothing is fetched when it is opened. A run that is incomplete shows what
// there is and says what is missing.
std::string FormatReport(const std::filesystem::path& run, const ReportOptions& options);

}  // namespace lumen
