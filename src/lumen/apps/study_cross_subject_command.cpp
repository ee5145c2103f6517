#include <iostream>

#include "lumen/apps/app.h"
#include "lumen/apps/study_commands.h"
#include "lumen/base/error.h"
#include "lumen/base/toml.h"
#include "lumen/sim/suite.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

// The paper's four splits, over the suite's eleven subjects. (There, subject 8 is tested twice.)
constexpr const char* kExample =
    R"(# Which model grades which sequences: each was trained without those it is tested on.
# `test` names subjects of the benchmark suite, or folders (relative to this file).
[fold-1]
model = "fold-1.safetensors"
test = ["nasal-1", "nasal-2", "nasal-3"]

[fold-2]
model = "fold-2.safetensors"
test = ["nasal-4", "colon-5", "colon-6"]

[fold-3]
model = "fold-3.safetensors"
test = ["colon-7", "bronchus-8", "stomach-11"]

[fold-4]
model = "fold-4.safetensors"
test = ["bronchus-8", "bronchus-9", "stomach-10"]
)";

constexpr const char* kPooled = "all folds";

struct Fold {
  std::string name;
  fs::path model;
  std::vector<std::string> test;
};

[[noreturn]] void Fail(const fs::path& path, const TomlValue& value, const std::string& reason) {
  throw InputError(path, StrCat("line ", value.line, ": ", reason));
}

std::vector<std::string> ReadNames(const fs::path& path, const TomlValue& value) {
  const auto* array = std::get_if<TomlValue::Array>(&value.value);
  if (array == nullptr || array->empty()) Fail(path, value, "test must be a list of sequences");
  std::vector<std::string> names;
  for (const TomlValue& item : *array) {
    const auto* name = std::get_if<std::string>(&item.value);
    if (name == nullptr) Fail(path, value, "test must hold strings");
    names.push_back(*name);
  }
  return names;
}

// Tables arrive flattened and sorted by name: "fold-1.model", "fold-1.test".
std::vector<Fold> LoadFolds(const fs::path& path) {
  std::vector<Fold> folds;
  for (const auto& [key, value] : LoadToml(path)) {
    const size_t dot = key.rfind('.');
    const std::string field = dot == std::string::npos ? key : key.substr(dot + 1);
    if (dot == std::string::npos || (field != "model" && field != "test"))
      Fail(path, value, StrCat("unknown key \"", key, "\": a fold has model and test"));
    const std::string name = key.substr(0, dot);
    if (folds.empty() || folds.back().name != name) folds.push_back({name, {}, {}});
    if (field == "test") {
      folds.back().test = ReadNames(path, value);
    } else {
      const auto* model = std::get_if<std::string>(&value.value);
      if (model == nullptr) Fail(path, value, "model must be a string");
      folds.back().model = path.parent_path() / *model;
    }
  }
  for (const Fold& fold : folds) {
    if (fold.test.empty()) throw InputError(path, StrCat("fold \"", fold.name, "\" has no test"));
    if (fold.model.empty()) throw InputError(path, StrCat("fold \"", fold.name, "\" has no model"));
    if (!fs::exists(fold.model)) throw InputError(fold.model, "no such file");
  }
  if (folds.empty()) throw InputError(path, "holds no folds");
  return folds;
}

bool IsSuiteSubject(const std::string& name) {
  for (const SuiteSubject& subject : kBenchmarkSuite)
    if (name == subject.name) return true;
  return false;
}

NamedSequence FindSequence(const std::string& name, const fs::path& folds, const StudyRunOptions& options) {
  StudyRunOptions one = options;
  if (IsSuiteSubject(name))
    one.suite.subjects = {name};
  else
    one.sequences = {folds.parent_path() / name};
  return ResolveSequences(one).front();
}

// Over all sequences of all folds; one that is tested twice counts twice, as in the paper.
void AddPooled(Study& study) {
  const std::vector<StudyEntry> entries = study.entries;
  for (const StudyEntry& entry : entries) {
    StudyEntry pooled = entry;
    pooled.variant = kPooled;
    pooled.sequence = StrCat(entry.variant, "/", entry.sequence);
    study.sequences.push_back(pooled.sequence);
    study.entries.push_back(std::move(pooled));
  }
  study.variants.insert(study.variants.begin(), kPooled);
  study.tests = false;  // folds have no sequences in common to pair
}

void RunCrossSubject(const fs::path& path, const StudyRunOptions& options) {
  std::vector<StudyCell> cells;
  const std::vector<Fold> folds = LoadFolds(path);
  for (const Fold& fold : folds) {
    for (const std::string& name : fold.test) {
      const NamedSequence sequence = FindSequence(name, path, options);
      cells.push_back({fold.name, sequence.name, sequence.folder, options.settings, fold.model});
    }
  }
  Study study = RunStudy("Cross-subject", cells, options.study, MakeProgramRunner(options.run_arguments));
  for (const Fold& fold : folds)
    study.notes.push_back(StrCat(fold.name, ": model ", fold.model.filename().string()));
  Study pooled = study;
  AddPooled(pooled);
  ReportStudy(std::move(pooled), options, "");
  RequireAllCells(study);
}

}  // namespace

void AddStudyCrossSubjectCommand(Command& study) {
  Command& command = study.AddCommand("cross-subject", "grade each sequence with a model that never saw it");
  struct State {
    fs::path folds;
    StudyRunOptions options;
  };
  auto state = std::make_shared<State>();
  command.Add("FOLDS", state->folds, "TOML file: which model is tested on which sequences").Required();
  AddStudyRunOptions(command, state->options);
  command.AddAnswer("--example", kExample, "print the paper's four splits as such a file");
  command.Do([state] { RunCrossSubject(state->folds, state->options); });
}

}  // namespace lumen
