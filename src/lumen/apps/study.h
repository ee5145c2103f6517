// A study: many runs, graded and laid side by side. Cells (a sequence under one variant) run beside one
// another; a finished cell is not run again, so that a study that was broken off goes on where it stopped.
//   OUT/cells/VARIANT/SEQUENCE/run         what the run wrote
//   OUT/cells/VARIANT/SEQUENCE/log.txt     what it said
//   OUT/cells/VARIANT/SEQUENCE/cell.json   its grades, settings and version; written last
//   OUT/study.md, .csv, .json, .html, boxes.svg
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lumen/apps/grading.h"
#include "lumen/apps/task_options.h"
#include "lumen/eval/study_table.h"

namespace lumen {

struct StudyCell {
  std::string variant;
  std::string sequence;                     // name; together with the variant unlike all others
  std::filesystem::path folder;             // of the sequence, with its truth
  std::vector<std::string> settings;        // as --set takes them: a.b=c
  std::filesystem::path model;              // empty: the usual one
  std::vector<std::string> arguments = {};  // of this run's alone
};

// Runs one cell, leaving a run's folder at `out`. Throws InputError or OutputError if it fails.
using RunCell = std::function<void(const StudyCell& cell, const std::filesystem::path& out)>;

struct StudyOptions {
  std::filesystem::path out;
  TaskOptions tasks;
  bool rerun = false;                 // cells of other settings or versions are run again
  bool allow_mixed_versions = false;  // … or kept, and the report says so
  GradingOptions grading;
};

// Runs what is not finished and grades it. A cell that fails is an entry with its failure, and is tried again
// next time. Throws InputError before anything runs if finished cells have other settings, or come from
// another version of Lumen.
Study RunStudy(const std::string& title, const std::vector<StudyCell>& cells, const StudyOptions& options,
               const RunCell& run);

// The same with `lumen run`, each cell a process of its own, here or on a cluster (study_cell.h).
Study RunStudy(const std::string& title, const std::vector<StudyCell>& cells, const StudyOptions& options,
               const std::vector<std::string>& run_arguments);

// Where a study keeps a cell; its run is in `run` there.
std::filesystem::path CellFolder(const std::filesystem::path& out, const std::string& variant,
                                 const std::string& sequence);

// Figures of the cells of one variant, as far as they were drawn.
std::vector<CaptionedFigure> CollectFigures(const Study& study, const std::string& variant,
                                            const std::filesystem::path& out);

// study.md, study.csv, study.json, study.html and boxes.svg.
void WriteStudy(const Study& study, const std::filesystem::path& out,
                const std::vector<CaptionedFigure>& figures = {});

// Throws InputError naming both unless all versions that are known are the same; `allowed` turns it into a
// note.
void RequireOneVersion(const std::vector<std::string>& versions, bool allowed, Study& study);

// The suite's subjects as sequence folders under `data`, simulated where they are not there yet.
struct SuiteChoice {
  std::vector<std::string> subjects;  // empty: all eleven
  std::filesystem::path data;
  int frames = 0;    // 0: the suite's own
  std::string size;  // empty: the suite's own
  std::string lens = "narrow";
  bool coverage = false;     // what was seen of the wall besides
  std::string degradations;  // as `lumen simulate --degrade` takes them
};
std::vector<std::filesystem::path> PrepareSuite(const SuiteChoice& choice);

}  // namespace lumen
