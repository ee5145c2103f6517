#include <iostream>
#include <set>

#include "lumen/apps/app.h"
#include "lumen/apps/model_path.h"
#include "lumen/apps/study_commands.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/base/parallel.h"
#include "lumen/io/dataset.h"
#include "lumen/io/sequence_folder.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

// A variant of the ablation: what is switched off, as in the paper's tables.
struct Ablation {
  const char* name;
  std::vector<std::string> settings;
};

std::vector<Ablation> PaperAblations() {
  const std::string fmt = "tracking.use_feature_metric=false";
  const std::string fmm = "mapping.use_feature_metric=false";
  const std::string rpt = "tracking.use_reprojection=false";
  const std::string local = "loop.local=false";
  const std::string global = "loop.global=false";
  return {{"full", {}},
          {"no FM in tracking", {fmt}},
          {"no FM in tracking and mapping", {fmt, fmm}},
          {"no RP in tracking", {rpt}},
          {"no global loops", {global}},
          {"no loops", {local, global}}};
}

std::vector<std::string> Joined(std::vector<std::string> first, const std::vector<std::string>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

void RunSuite(const StudyRunOptions& options) {
  std::vector<StudyCell> cells;
  for (const NamedSequence& sequence : ResolveSequences(options))
    cells.push_back({"lumen", sequence.name, sequence.folder, options.settings, options.model});
  const Study study = RunStudy("Suite", cells, options.study, options.run_arguments);
  ReportStudy(study, options, "lumen");
  RequireAllCells(study);
}

void RunAblation(const StudyRunOptions& options) {
  std::vector<StudyCell> cells;
  const std::vector<NamedSequence> sequences = ResolveSequences(options);
  for (const Ablation& ablation : PaperAblations()) {
    for (const NamedSequence& sequence : sequences)
      cells.push_back({ablation.name, sequence.name, sequence.folder,
                       Joined(options.settings, ablation.settings), options.model});
  }
  const Study study = RunStudy("Ablation", cells, options.study, options.run_arguments);
  ReportStudy(study, options, "full");
  RequireAllCells(study);
}

// The sequence that lies there, or all of a data set's that lie below.
std::vector<NamedSequence> SequencesIn(const fs::path& folder) {
  const fs::path whole = fs::absolute(folder / "").lexically_normal().parent_path();
  if (!fs::exists(whole)) throw InputError(folder, "no such file or folder");
  std::vector<NamedSequence> sequences;
  if (!IsSequenceFolder(whole)) {
    for (const DatasetSequence& sequence : FindDatasetSequences(whole))
      sequences.push_back(
          {sequence.path == whole ? whole.filename().string() : sequence.name, sequence.path});
  }
  if (sequences.empty()) sequences.push_back({whole.filename().string(), whole});
  return sequences;
}

std::string JoinWords(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

void AddStudyRunOptions(Command& command, StudyRunOptions& options) {
  command.Add("--out", options.study.out, "folder of the study; a study there goes on").Required();
  command.Add("--data", options.suite.data, "where the suite's sequences are kept (default: OUT/data)");
  command.Add("--subjects", options.suite.subjects, "of the suite: only these, e.g. nasal-1,colon-5")
      .SplitAt(',');
  command.Add("--frames", options.suite.frames, "of the suite's sequences, instead of their own")
      .Within(2, 100000);
  command.Add("--size", options.suite.size, "of the suite's images, WIDTHxHEIGHT");
  command.Add("--lens", options.suite.lens, "the suite's: narrow (77°) or wide (a colonoscope's fisheye)")
      .OneOf({"narrow", "wide"})
      .ShowDefault();
  command.Add("--model", options.model, "weights, instead of the usual ones");
  command.Add("--set", options.settings, "one parameter for all runs, as name=value").Hint(SettingHints());
  command.Add("--run-arg", options.run_arguments, "one more argument for every `lumen run`");
  AddTaskOptions(command, options.study.tasks, "runs");
  command.AddFlag("--rerun", options.study.rerun, "run cells of other settings or versions again");
  command.AddFlag("--allow-mixed-versions", options.study.allow_mixed_versions,
                  "keep cells of other versions, and say so");
}

std::vector<NamedSequence> ResolveSequences(const StudyRunOptions& options) {
  MakeTaskEngine(options.study.tasks, options.study.out);  // whether there is one, before minutes are spent
  std::vector<fs::path> folders = options.sequences;
  if (folders.empty()) {
    SuiteChoice suite = options.suite;
    if (suite.data.empty()) suite.data = options.study.out / "data";
    folders = PrepareSuite(suite);
  }
  std::vector<NamedSequence> sequences;
  std::set<std::string> names;
  for (const fs::path& folder : folders) {
    for (const NamedSequence& sequence : SequencesIn(folder)) {
      if (!names.insert(sequence.name).second)
        throw InputError(sequence.folder, "another sequence has the same name");
      sequences.push_back(sequence);
    }
  }
  return sequences;
}

void ReportStudy(Study study, const StudyRunOptions& options, const std::string& figures_of) {
  if (study.record.Find("model") == nullptr) {
    const auto model = FindModel(options.model);
    study.record["model"] = model ? model->filename().string() : "none";
  }
  study.record["settings"] = options.settings.empty() ? "defaults" : JoinWords(options.settings);
  study.record["sequences"] = static_cast<int64_t>(study.sequences.size());
  WriteStudy(study, options.study.out, CollectFigures(study, figures_of, options.study.out));
  std::cout << FormatMarkdown(study);
  LogInfo("wrote ", (options.study.out / "study.html").string(), " and study.md, .csv, .json beside it");
}

void RequireAllCells(const Study& study) {
  size_t failed = 0;
  for (const StudyEntry& entry : study.entries) failed += entry.failure.empty() ? 0 : 1;
  if (failed > 0)
    throw InputError(StrCat(failed, " of ", study.entries.size(), " cells failed; the report says which"));
}

void AddStudySuiteCommand(Command& study) {
  Command& command = study.AddCommand("suite", "run and grade the benchmark suite, or sequences of yours");
  auto options = std::make_shared<StudyRunOptions>();
  command.Add("SEQUENCE", options->sequences,
              "sequences with truth, or folders of a data set's, instead of the suite");
  AddStudyRunOptions(command, *options);
  command.Do([options] { RunSuite(*options); });
}

void AddStudyAblationCommand(Command& study) {
  Command& command = study.AddCommand("ablation", "switch SLAM's components off, as the paper does");
  auto options = std::make_shared<StudyRunOptions>();
  command.Add("SEQUENCE", options->sequences, "sequences with truth, instead of the suite");
  AddStudyRunOptions(command, *options);
  command.Do([options] { RunAblation(*options); });
}

void AddStudyCommand(Command& app) {
  Command& study = app.AddCommand("study", "many runs graded side by side, with tables and figures");
  study.RequireCommand();
  AddStudySuiteCommand(study);
  AddStudyAblationCommand(study);
  AddStudyCrossSubjectCommand(study);
  AddStudyCompareCommand(study);
  AddStudyCtCommand(study);
  AddStudyPriorsCommand(study);
  AddStudyUncertaintyCommand(study);
  AddStudyStatusesCommand(study);
  AddStudyCoverageCommand(study);
}

}  // namespace lumen
