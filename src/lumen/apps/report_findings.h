// What a report leads with: whether the run is to be relied on, how far it went, how complete and how sure it
// is, and what was not seen, with pictures.
#pragma once

#include "lumen/coverage/coverage.h"
#include "lumen/eval/html.h"
#include "lumen/io/run_folder.h"

namespace lumen {

// Without ways where it cannot be told. `mm_per_unit` 0: as `lumen coverage` was told for this run, if it
// was.
WallCoverage FindRunCoverage(const RunFolder& run, double mm_per_unit);

void AddVerdict(const RunFolder& run, HtmlPage& page);
// How far, how complete, how sure.
void AddAnswers(const RunFolder& run, const WallCoverage& coverage, HtmlPage& page);
// The wall laid flat, and what was not seen of it, with the pictures to look at again.
void AddWall(const RunFolder& run, const WallCoverage& coverage, HtmlPage& page);

}  // namespace lumen
