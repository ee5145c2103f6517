#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>

#include "lumen/apps/app.h"
#include "lumen/apps/study_commands.h"
#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/base/parallel.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

struct CompareOptions {
  std::vector<std::string> systems;  // NAME=FOLDER
  std::vector<fs::path> truths;
  fs::path out;
  double depth_scale = 1000;
  bool allow_mixed_versions = false;
  GradingOptions grading;
};

struct System {
  std::string name;
  std::vector<fs::path> runs;  // one folder, or run-1, run-2, … of a system that never does the same twice
};

std::vector<System> ParseSystems(const std::vector<std::string>& texts) {
  std::vector<System> systems;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw InputError(StrCat("--system \"", text, "\": expected NAME=FOLDER"));
    const fs::path folder = text.substr(equals + 1);
    if (!fs::is_directory(folder)) throw InputError(folder, "is not a folder");
    systems.push_back({text.substr(0, equals), {}});
    for (int k = 1; fs::is_directory(folder / StrCat("run-", k)); ++k)
      systems.back().runs.push_back(folder / StrCat("run-", k));
    if (systems.back().runs.empty()) systems.back().runs.push_back(folder);
  }
  return systems;
}

// A system's output for a sequence: a run's folder SEQUENCE (or SEQUENCE/run, as studies keep them), else
// SEQUENCE.tum with its depth in SEQUENCE/depth.
Estimate LoadSystemEstimate(const fs::path& folder, const Truth& truth, const std::string& sequence,
                            double depth_scale) {
  for (const fs::path& run : {folder / sequence, folder / sequence / "run"})
    if (IsRunFolder(run)) return LoadRunEstimate(run);
  ForeignFiles files;
  files.trajectory = folder / (sequence + ".tum");
  if (!fs::exists(files.trajectory))
    throw InputError(folder, StrCat("has neither a run ", sequence, " nor ", sequence, ".tum"));
  if (fs::is_directory(folder / sequence / "depth")) files.depth = folder / sequence / "depth";
  files.depth_scale = depth_scale;
  return LoadForeignEstimate(files, truth.fps);
}

std::string SequenceName(const fs::path& path) {
  return fs::absolute(path / "").lexically_normal().parent_path().filename().string();
}

// Of several runs the middle one by ATE, those that failed counted as the worst; how they spread is a note.
StudyEntry MedianRun(std::vector<StudyEntry> runs, Study& study) {
  const auto error = [](const StudyEntry& entry) {
    return entry.failure.empty() ? *entry.grades.Get("ate_trans") : std::numeric_limits<double>::infinity();
  };
  std::stable_sort(runs.begin(), runs.end(),
                   [&](const StudyEntry& a, const StudyEntry& b) { return error(a) < error(b); });
  const auto failed =
      std::count_if(runs.begin(), runs.end(), [](const StudyEntry& e) { return !e.failure.empty(); });
  StudyEntry middle = runs[runs.size() / 2];
  if (runs.size() > 1) {
    const auto good = static_cast<std::ptrdiff_t>(runs.size()) - failed;
    study.notes.push_back(StrCat(
        middle.variant, " on ", middle.sequence, ": ", failed, " of ", runs.size(), " runs failed",
        good > 0 ? StrCat(", ATE ", FormatDouble(std::round(1e4 * error(runs.front())) / 1e4), " to ",
                          FormatDouble(std::round(1e4 * error(runs[static_cast<size_t>(good) - 1])) / 1e4))
                 : ""));
  }
  return middle;
}

// The first system's keyframes decide how many video frames a step of the RPE spans, whichever poses are
// graded.
Grades GradeFirst(const Estimate& estimate, const Truth& truth, GradingOptions& grading) {
  GradingOptions of_keyframes = grading;
  of_keyframes.only_frames = false;
  const Grading graded = GradeEstimate(estimate, truth, of_keyframes);
  if (graded.keyframes.relative) grading.step_frames = graded.keyframes.relative->mean_seconds * truth.fps;
  return grading.only_frames ? GradeEstimate(estimate, truth, grading).grades : graded.grades;
}

// One sequence under all systems. The RPE's step is that of the first system's keyframes, in time, so that
// systems with other keyframes are asked about as much video.
void CompareOnSequence(const fs::path& path, const std::vector<System>& systems,
                       const CompareOptions& options, Study& study, std::vector<std::string>& versions) {
  const Truth truth = LoadTruth(path);
  const std::string sequence = SequenceName(path);
  study.sequences.push_back(sequence);
  GradingOptions grading = options.grading;
  for (const System& system : systems) {
    std::vector<StudyEntry> runs;
    for (const fs::path& folder : system.runs) {
      StudyEntry entry{system.name, sequence, {}, ""};
      try {
        const Estimate estimate = LoadSystemEstimate(folder, truth, sequence, options.depth_scale);
        const bool sets_step = &system == &systems.front() && grading.step_frames <= 0;
        entry.grades =
            sets_step ? GradeFirst(estimate, truth, grading) : GradeEstimate(estimate, truth, grading).grades;
        versions.push_back(estimate.version);
        if (!entry.grades.Get("ate_trans"))
          entry.failure = StrCat(folder.string(), ": ", sequence, ": no path that can be graded");
      } catch (const InputError& error) {
        entry.failure = error.what();
      }
      if (!entry.failure.empty()) LogWarning(entry.failure);
      runs.push_back(std::move(entry));
    }
    study.entries.push_back(MedianRun(std::move(runs), study));
  }
}

void RunCompare(CompareOptions options) {
  const std::vector<System> systems = ParseSystems(options.systems);
  options.grading.threads = AvailableCores();
  Study study;
  study.title = "Comparison";
  for (const System& system : systems) study.variants.push_back(system.name);
  std::vector<std::string> versions;
  for (const fs::path& truth : options.truths) CompareOnSequence(truth, systems, options, study, versions);
  RequireOneVersion(versions, options.allow_mixed_versions, study);
  study.notes.push_back(
      options.grading.step_frames > 0
          ? StrCat("RPE: all systems over ", FormatDouble(options.grading.step_frames), " video frames.")
          : StrCat("RPE: ", systems.front().name, " over ", options.grading.step_poses,
                   " keyframes, the others over the same time on each sequence."));
  if (options.grading.only_frames)
    study.notes.push_back("Every placed frame is graded, not keyframes alone.");
  WriteStudy(study, options.out);
  std::cout << FormatMarkdown(study);
}

}  // namespace

void AddStudyCompareCommand(Command& study) {
  Command& command = study.AddCommand("compare", "several systems' outputs on the same sequences");
  auto options = std::make_shared<CompareOptions>();
  command
      .Add("--system", options->systems,
           "NAME=FOLDER with a run or a SEQUENCE.tum per sequence, or with folders run-1, run-2 and so on of "
           "such")
      .Required();
  command.Add("--truth", options->truths, "the sequences with their truth").Required();
  command.Add("--out", options->out, "folder for the report").Required();
  command.Add("--depth-scale", options->depth_scale, "stored value of depth 1, of systems that are not Lumen")
      .Positive()
      .ShowDefault();
  command.Add("--delta-frames", options->grading.step_frames, "step of the RPE in video frames, for all")
      .Within(1, 1000000);
  command.AddFlag("--all-frames", options->grading.only_frames,
                  "grade every placed frame instead of the keyframes, as other systems are");
  command.AddFlag("--allow-mixed-versions", options->allow_mixed_versions,
                  "compare runs of different versions of Lumen, and say so");
  command.Do([options] { RunCompare(*options); });
}

}  // namespace lumen
