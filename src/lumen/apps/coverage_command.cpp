#include <iostream>

#include "lumen/apps/app.h"
#include "lumen/apps/coverage_words.h"
#include "lumen/apps/ct_model.h"
#include "lumen/apps/run_coverage.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/base/parallel.h"

namespace lumen {

namespace {

struct CoverageChoice {
  std::filesystem::path run, out, registration;
  ModelChoice model;
  double mm_per_unit = 0;
  int most_spots = 12;
  ConfigChoice config;
};

WallCoverage MeasureChosen(const CoverageChoice& choice, const CoverageOptions& options) {
  const RunFolder run = ReadRunFolder(choice.run);
  if (choice.model.path.empty() != choice.registration.empty())
    throw InputError("a CT's wall needs both --model and --registration");
  if (choice.model.path.empty()) return MeasureRunCoverage(run, options, AvailableCores());
  ModelChoice model = choice.model;
  if (model.cavity < 0) model.cavity = RegisteredCavity(choice.registration);
  const RegisteredWall wall = LoadRegisteredWall(choice.registration, LoadRegistrationModel(model).wall);
  return MeasureCtCoverage(run, wall, options, AvailableCores());
}

void PrintStretches(const WallCoverage& coverage) {
  for (const Stretch& stretch : coverage.stretches) {
    char line[160];
    std::snprintf(line, sizeof(line),
                  "%3.0f ± %2.0f %% seen, %2.0f %% from afar only, %2.0f %% at a glance only",
                  100 * stretch.seen, 100 * stretch.sigma, 100 * stretch.afar, 100 * stretch.glance);
    std::cout << (coverage.ways.size() > 1 ? StrCat("way ", stretch.way + 1, ", ") : "")
              << LengthInWords(stretch.from, coverage, stretch.way) << " to "
              << LengthInWords(stretch.to, coverage, stretch.way) << ": " << line << '\n';
  }
}

void RunCoverage(const CoverageChoice& choice) {
  CoverageOptions options = ResolveConfig(choice.config).coverage;
  if (choice.mm_per_unit > 0) options.mm_per_unit = choice.mm_per_unit;
  const std::filesystem::path out = choice.out.empty() ? choice.run : choice.out;
  const WallCoverage coverage = MeasureChosen(choice, options);
  const std::vector<std::string> words = DescribeCoverage(coverage, static_cast<size_t>(choice.most_spots));
  std::cout << words.front() << '\n';
  if (coverage.ways.empty()) return;
  PrintStretches(coverage);
  for (size_t i = 1; i < words.size(); ++i) std::cout << words[i] << '\n';
  SaveCoverage(out, coverage);
  LogInfo("coverage: ", (out / coverage_file::kMap).string(), " to look at, ", coverage_file::kJson, ", ",
          coverage_file::kSpots, ", ", coverage_file::kMesh, " beside it");
}

}  // namespace

void AddCoverageCommand(Command& app) {
  Command& command =
      app.AddCommand("coverage", "how much of the wall a run has seen, and which spots it has not");
  auto choice = std::make_shared<CoverageChoice>();
  command.Add("RUN", choice->run, "folder of a run").Required();
  command.Add("--out", choice->out, "folder for the results; the run's own if not given");
  command.Add("--mm-per-unit", choice->mm_per_unit, "millimetres to the map's unit, where they are known")
      .Positive();
  command.Add("--model", choice->model.path,
              "the CT (or a mesh of it) the run was registered to: its wall instead");
  command.Add("--registration", choice->registration, "folder that `lumen register` wrote");
  AddModelChoice(command, choice->model);
  command.Add("--spots", choice->most_spots, "that are listed at most").Within(0, 1000).ShowDefault();
  AddConfigOptions(command, choice->config);
  command.Do([choice] { RunCoverage(*choice); });
}

}  // namespace lumen
