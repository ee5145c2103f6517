#include <array>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "lumen/apps/study_commands.h"
#include "lumen/apps/uncertainty_grading.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/eval/reliability_figure.h"
#include "lumen/eval/statistics.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr std::array<const char*, 2> kLenses = {"narrow", "wide"};

// One quantity over the subjects of one lens, or of both.
struct Quantity {
  std::vector<std::array<double, 3>> within;
  std::vector<std::array<double, 9>> curves;
  std::vector<double> nll, mean_squares;

  void Add(const Json& score) {
    within.push_back(
        {score.At("within_1").AsDouble(), score.At("within_2").AsDouble(), score.At("within_3").AsDouble()});
    curves.emplace_back();
    for (size_t i = 0; i < curves.back().size(); ++i)
      curves.back()[i] = score.At("curve").AsArray().at(i).AsDouble();
    nll.push_back(score.At("nll").AsDouble());
    mean_squares.push_back(score.At("mean_square").AsDouble());
  }
  double MedianWithin(size_t sigmas) const {
    std::vector<double> shares;
    for (const auto& subject : within) shares.push_back(subject[sigmas - 1]);
    return Quantile(shares, 0.5);
  }
  // Of the one sigma that fits all these subjects best.
  double ConstantNll() const { return 0.5 + 0.5 * std::log(std::max(Mean(mean_squares), 1e-300)); }
  std::array<double, 9> MedianCurve() const {
    std::array<double, 9> median{};
    for (size_t i = 0; i < median.size(); ++i) {
      std::vector<double> shares;
      for (const auto& curve : curves) shares.push_back(curve[i]);
      median[i] = Quantile(shares, 0.5);
    }
    return median;
  }
};

struct Findings {
  std::map<std::string, std::map<std::string, Quantity>> by_lens;  // lens, then quantity
  std::map<std::string, Quantity> all;
  std::vector<double> halves;  // how many times farther off the surface's less sure half is
};

void AddCell(const Json& grades, const std::string& lens, Findings& findings) {
  if (const Json* scores = grades.Find("calibration")) {
    for (const std::string& name : UncertainQuantities()) {
      const Json* score = scores->Find(name);
      if (score == nullptr) continue;
      findings.by_lens[lens][name].Add(*score);
      findings.all[name].Add(*score);
    }
  }
  const Json* better = grades.Find("surface_better_half");
  const Json* worse = grades.Find("surface_worse_half");
  if (better != nullptr && worse != nullptr && better->AsDouble() > 0)
    findings.halves.push_back(worse->AsDouble() / better->AsDouble());
}

std::string FormatFindings(const Findings& findings) {
  std::ostringstream text;
  text.exceptions(std::ios::badbit);
  text << std::fixed << "| what |";
  for (const char* lens : kLenses) text << ' ' << lens << ": within 1 σ | 2 σ | 3 σ |";
  text << " NLL | one σ for all |\n|---|";
  for (size_t i = 0; i < 3 * kLenses.size() + 2; ++i) text << "---|";
  text << '\n';
  for (const std::string& name : UncertainQuantities()) {
    const auto all = findings.all.find(name);
    if (all == findings.all.end()) continue;
    text << "| " << name << " |";
    for (const char* lens : kLenses) {
      const auto of_lens = findings.by_lens.find(lens);
      const bool known = of_lens != findings.by_lens.end() && of_lens->second.contains(name);
      for (const size_t sigmas : {1, 2, 3}) {
        if (known)
          text << ' ' << std::setprecision(1) << 100 * of_lens->second.at(name).MedianWithin(sigmas) << " |";
        else
          text << " – |";
      }
    }
    text << ' ' << std::setprecision(2) << Mean(all->second.nll) << " | " << all->second.ConstantNll()
         << " |\n";
  }
  if (!findings.halves.empty())
    text << "\nThe less sure half of the surface's vertices is " << std::setprecision(2)
         << Quantile(findings.halves, 0.5) << " times as far off as the surer half (median over subjects).\n";
  return text.str();
}

std::string DrawFindings(const Findings& findings) {
  const auto panel = [&](const std::string& title, const std::vector<std::string>& names) {
    ReliabilityPanel drawn{title, {}};
    for (const std::string& name : names) {
      const auto found = findings.all.find(name);
      if (found != findings.all.end()) drawn.curves.push_back({name, found->second.MedianCurve()});
    }
    return drawn;
  };
  const std::vector<std::string> names = UncertainQuantities();
  return DrawReliability("Stated uncertainty against errors, median over subjects",
                         {panel("poses", {names.begin(), names.begin() + 6}),
                          panel("seven keyframes apart", {names.begin() + 6, names.begin() + 12}),
                          panel("depth, surface, scale", {"depth", "surface", "scale"})});
}

void RunUncertainty(StudyRunOptions options) {
  std::vector<StudyCell> cells;
  const fs::path data = options.suite.data.empty() ? options.study.out / "data" : options.suite.data;
  for (const char* lens : kLenses) {
    options.suite.lens = lens;
    options.suite.data = data / lens;
    for (const NamedSequence& sequence : ResolveSequences(options))
      cells.push_back({lens, sequence.name, sequence.folder, options.settings, options.model});
    if (!options.sequences.empty()) break;
  }
  const Study study = RunStudy("Uncertainty", cells, options.study, options.run_arguments);
  Findings findings;
  for (const StudyCell& cell : cells) {
    const fs::path record = CellFolder(options.study.out, cell.variant, cell.sequence) / "cell.json";
    if (fs::exists(record)) AddCell(Json::Load(record).At("grades"), cell.variant, findings);
  }
  const std::string table = FormatFindings(findings);
  WriteFileAtomically(options.study.out / "uncertainty.md", table);
  WriteFileAtomically(options.study.out / "reliability.svg", DrawFindings(findings));
  ReportStudy(study, options, kLenses[0]);
  std::cout << '\n' << table;
  RequireAllCells(study);
}

}  // namespace

void AddStudyUncertaintyCommand(Command& study) {
  Command& command = study.AddCommand(
      "uncertainty", "whether runs are as sure as they say, over the suite through both lenses");
  auto options = std::make_shared<StudyRunOptions>();
  command.Add("SEQUENCE", options->sequences, "sequences with their truth, instead of the suite");
  AddStudyRunOptions(command, *options);
  command.Do([options] { RunUncertainty(*options); });
}

}  // namespace lumen
