// One cell of a study: run, graded, written down. The same whether it is done in this process, in one of its
// own, or on another machine.
#pragma once

#include "lumen/apps/made_with.h"
#include "lumen/apps/study.h"
#include "lumen/base/json.h"

namespace lumen {

inline constexpr const char* kCellRecord = "cell.json";

struct CellWork {
  StudyCell cell;
  std::filesystem::path folder;
  std::string model_hash;
  GradingOptions grading;
};
// What makes a cell the same cell.
Json CellIdentity(const CellWork& work);

// Runs and grades aside, in a folder that no other attempt at this cell has, and brings what it made to its
// place; the record comes last, so that a cell is finished or not there. Returns the record.
Json RunAndGrade(const CellWork& work, const RunCell& run);

// `lumen study-cell` with all of this in its arguments, paths absolute.
Task MakeCellTask(const std::string& name, const CellWork& work,
                  const std::vector<std::string>& run_arguments);

}  // namespace lumen
