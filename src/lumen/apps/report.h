// A run as one page that can be mailed. It leads with what was found (report_findings.h) and with what was
// reconstructed, to be turned by hand; its path; folded away, its keyframes with their depth, its grades
// where the truth is known, and the numbers of the run.
#pragma once

#include <filesystem>
#include <string>

#include "lumen/coverage/coverage.h"

namespace lumen {

struct ReportOptions {
  std::filesystem::path truth;             // empty: the run's own input, where it has one and is still there
  int views = 36;                          // of the turntable
  int keyframes = 8;                       // shown
  double mm_per_unit = 0;                  // of the map; 0: as `lumen coverage` was told, if it was
  std::string name;                        // what the page is called; empty: as the run's folder
  const WallCoverage* coverage = nullptr;  // as it was measured already; null: it is measured
};

// Everything is inside the page: nothing is fetched when it is opened. A run that is incomplete shows what
// there is and says what is missing.
std::string FormatReport(const std::filesystem::path& run, const ReportOptions& options);

}  // namespace lumen
