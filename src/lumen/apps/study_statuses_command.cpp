// Whether frames that are off are called so: the suite, spoilt in every way and to every degree.
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "lumen/apps/study_commands.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/eval/reliability_figure.h"
#include "lumen/eval/status_score.h"
#include "lumen/sim/degrade.h"
#include "lumen/sim/suite.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

struct Said {
  StatusScore at_once, at_last;

  void Add(const Json& grades) {
    if (const Json* score = grades.Find("statuses_at_once")) at_once.Add(StatusScore::FromJson(*score));
    if (const Json* score = grades.Find("statuses")) at_last.Add(StatusScore::FromJson(*score));
  }
};

struct SaidOf {
  std::map<std::string, Said> by_kind;
  std::map<int, Said> by_severity;
  Said all;
};

// Each kind and severity on one of the suite's subjects, in turn, through either lens; or on all that are
// named.
std::vector<StudyCell> MakeCells(StudyRunOptions options, std::map<std::string, Degradation>& degradations) {
  const fs::path data = options.suite.data.empty() ? options.study.out / "data" : options.suite.data;
  const std::vector<std::string> named = options.suite.subjects;
  std::vector<StudyCell> cells;
  size_t turn = 0;
  for (size_t kind = 0; kind < DegradationNames().size(); ++kind) {
    for (int severity = 1; severity <= kMaxSeverity; ++severity, ++turn) {
      const std::string name = DegradationNames()[kind];
      const std::string variant = StrCat(name, "-", severity);
      degradations[variant] = {static_cast<DegradationKind>(kind), severity};
      options.suite.degradations = StrCat(name, ":", severity);
      options.suite.data = data / variant;
      options.suite.lens = turn % 2 == 0 ? "narrow" : "wide";
      // Steps of three go through all eleven, and give a kind's severities different organs.
      if (named.empty()) options.suite.subjects = {kBenchmarkSuite[3 * turn % kBenchmarkSuite.size()].name};
      for (const NamedSequence& sequence : ResolveSequences(options))
        cells.push_back({variant, sequence.name, sequence.folder, options.settings, options.model});
    }
  }
  return cells;
}

void AddRow(const std::string& name, const Said& said, std::ostream& text) {
  const auto percent = [&](double share) { text << std::setprecision(1) << 100 * share << " |"; };
  text << "| " << name << " | " << said.at_last.Placed() << " | " << said.at_last.Lost() << " | "
       << said.at_last.Off() << " |";
  for (const StatusScore* score : {&said.at_once, &said.at_last}) {
    text << ' ';
    if (score->HasAuc())
      text << std::setprecision(3) << score->Auc() << " | ";
    else
      text << "– | ";
    if (score->Off() > 0)
      percent(score->OffCalledTracked());
    else
      text << "– |";
    text << ' ';
    percent(score->GoodCalledWeak());
  }
  text << '\n';
}

std::string FormatSaid(const SaidOf& findings) {
  std::ostringstream text;
  text.exceptions(std::ios::badbit);
  text
      << std::fixed
      << "| | placed | lost | off | at once: AUC | off called tracked, % | good called weak, % | at the end: "
         "AUC | off called tracked, % | good called weak, % |\n|---|";
  for (int i = 0; i < 9; ++i) text << "---|";
  text << '\n';
  for (const auto& [kind, said] : findings.by_kind) AddRow(kind, said, text);
  for (const auto& [severity, said] : findings.by_severity) AddRow(StrCat("severity ", severity), said, text);
  AddRow("**all**", findings.all, text);
  text << "\n| said to be off with | frames | were off, % |\n|---|---|---|\n";
  for (int i = 0; i < StatusScore::kBins; ++i) {
    const StatusScore::Bin bin = findings.all.at_last.BinAt(i);
    if (bin.frames > 0)
      text << "| " << std::setprecision(4) << bin.probability << " | " << bin.frames << " | "
           << std::setprecision(1) << 100 * bin.off << " |\n";
  }
  return text.str();
}

void RunStatuses(const StudyRunOptions& options) {
  std::map<std::string, Degradation> degradations;
  const std::vector<StudyCell> cells = MakeCells(options, degradations);
  const Study study = RunStudy("Statuses", cells, options.study, options.run_arguments);
  SaidOf findings;
  for (const StudyCell& cell : cells) {
    const fs::path record = CellFolder(options.study.out, cell.variant, cell.sequence) / "cell.json";
    if (!fs::exists(record)) continue;
    const Json file = Json::Load(record);
    const Json& grades = file.At("grades");
    const Degradation& degradation = degradations.at(cell.variant);
    findings.by_kind[DegradationName(degradation.kind)].Add(grades);
    findings.by_severity[degradation.severity].Add(grades);
    findings.all.Add(grades);
  }
  const std::string table = FormatSaid(findings);
  WriteFileAtomically(options.study.out / "statuses.md", table);
  ReportStudy(study, options, cells.front().variant);
  std::cout << '\n' << table;
  RequireAllCells(study);
}

}  // namespace

void AddStudyStatusesCommand(Command& study) {
  Command& command = study.AddCommand(
      "statuses", "whether frames that are off are called so, over the suite spoilt in every way");
  auto options = std::make_shared<StudyRunOptions>();
  AddStudyRunOptions(command, *options);
  command.Do([options] { RunStatuses(*options); });
}

}  // namespace lumen
