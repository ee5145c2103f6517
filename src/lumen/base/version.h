// Which Lumen this is; part of every run's record.
#pragma once

#include <string>

namespace lumen {

std::string Version();  // e.g. "0.1.0"
std::string Commit();   // short hash of the sources, or "unknown"

}  // namespace lumen
