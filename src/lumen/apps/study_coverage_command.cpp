// Whether runs know what they have not seen: the suite through both lenses, against the simulator's own
// record.
#include <iomanip>
#include <iostream>
#include <sstream>

#include "lumen/apps/coverage_grading.h"
#include "lumen/apps/study_commands.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/base/parallel.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr std::array<const char*, 2> kCoverageLenses = {"narrow", "wide"};

void AddCoverageRow(const std::string& name, const CoverageScore& score, bool shares, std::ostream& text) {
  const auto percent = [&](double part, double of) {
    if (of > 0)
      text << ' ' << std::lround(100 * part / of) << " |";
    else
      text << " – |";
  };
  text << "| " << name << " |";
  if (shares)
    text << ' ' << std::lround(100 * score.truth) << " | " << std::lround(100 * score.said) << " |";
  else
    text << " | |";
  text << ' ' << score.stretches.size() << " | " << std::setprecision(1) << 100 * score.MeanError() << " |";
  percent(score.WithinSigmas(1), 1);
  percent(score.WithinSigmas(2), 1);
  percent(score.missed_found, score.missed);
  percent(score.missed_found, score.missed_said);
  text << ' ' << score.spots_found << " of " << score.spots << " | " << score.spots_right << " of "
       << score.spots_said << " |\n";
}

std::string FormatCoverage(const std::vector<std::pair<std::string, CoverageScore>>& scores) {
  std::ostringstream text;
  text.exceptions(std::ios::badbit);
  text << std::fixed
       << "| subject | seen, % | said, % | stretches | mean error, points | within 1 σ, % | 2 σ, % | not "
          "seen: faces "
          "found, % | faces right, % | spots found | spots right |\n|---|";
  for (int i = 0; i < 10; ++i) text << "---|";
  text << '\n';
  CoverageScore all;
  std::map<std::string, CoverageScore> by_lens;
  for (const auto& [name, score] : scores) {
    AddCoverageRow(name, score, true, text);
    by_lens[name.substr(name.rfind(' ') + 1)].Add(score);
    all.Add(score);
  }
  for (const auto& [lens, score] : by_lens) AddCoverageRow("**" + lens + "**", score, false, text);
  AddCoverageRow("**all**", all, false, text);
  return text.str();
}

void RunCoverageStudy(StudyRunOptions options) {
  std::vector<StudyCell> cells;
  const fs::path data = options.suite.data.empty() ? options.study.out / "data" : options.suite.data;
  options.suite.coverage = true;
  options.study.grading.coverage = true;
  for (const char* lens : kCoverageLenses) {
    options.suite.lens = lens;
    options.suite.data = data / lens;
    for (const NamedSequence& sequence : ResolveSequences(options))
      cells.push_back({lens, sequence.name, sequence.folder, options.settings, options.model});
    if (!options.sequences.empty()) break;
  }
  const Study study = RunStudy("Coverage", cells, options.study, options.run_arguments);
  std::vector<std::pair<std::string, CoverageScore>> scores;
  for (const StudyCell& cell : cells) {
    const fs::path record = CellFolder(options.study.out, cell.variant, cell.sequence) / "cell.json";
    if (!fs::exists(record)) continue;
    const Json file = Json::Load(record);
    if (const Json* coverage = file.At("grades").Find("coverage"))
      scores.emplace_back(StrCat(cell.sequence, ' ', cell.variant), CoverageScore::FromJson(*coverage));
    else
      LogWarning(cell.sequence, ": the truth does not say what was seen");
  }
  const std::string table = FormatCoverage(scores);
  WriteFileAtomically(options.study.out / "coverage.md", table);
  ReportStudy(study, options, kCoverageLenses[0]);
  std::cout << '\n' << table;
  RequireAllCells(study);
}

}  // namespace

void AddStudyCoverageCommand(Command& study) {
  Command& command = study.AddCommand(
      "coverage", "whether runs know what they have not seen, over the suite through both lenses");
  auto options = std::make_shared<StudyRunOptions>();
  command.Add("SEQUENCE", options->sequences, "sequences that say what was seen, instead of the suite");
  AddStudyRunOptions(command, *options);
  command.Do([options] { RunCoverageStudy(*options); });
}

}  // namespace lumen
