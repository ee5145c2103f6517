#include <set>

#include "lumen/apps/app.h"
#include "lumen/apps/interrupt.h"
#include "lumen/apps/study_commands.h"
#include "lumen/apps/training.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/base/toml.h"
#include "lumen/sim/suite.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

// The paper's four splits, over the suite's eleven subjects. (There, subject 8 is tested twice.)
constexpr const char* kExample =
    R"(# Which model grades which sequences: each was trained without those it is tested on.
# `test` names subjects of the benchmark suite, or folders (relative to this file).
# With --train, `train` names the sequences that a fold's model is made from, and `model` may be left out.
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
  std::vector<std::string> test, train;
};

// How folds are trained, where they are.
struct FoldTraining {
  bool wanted = false;
  fs::path init;
  std::string device = "auto";
  double minutes = 0, sim_share = 0.5;
  int steps = 0;
  std::vector<std::string> settings;
};

[[noreturn]] void Fail(const fs::path& path, const TomlValue& value, const std::string& reason) {
  throw InputError(path, StrCat("line ", value.line, ": ", reason));
}

std::vector<std::string> ReadNames(const fs::path& path, const TomlValue& value) {
  const auto* array = std::get_if<TomlValue::Array>(&value.value);
  if (array == nullptr || array->empty()) Fail(path, value, "test and train must be lists of sequences");
  std::vector<std::string> names;
  for (const TomlValue& item : *array) {
    const auto* name = std::get_if<std::string>(&item.value);
    if (name == nullptr) Fail(path, value, "test and train must hold strings");
    names.push_back(*name);
  }
  return names;
}

// Tables arrive flattened and sorted by name: "fold-1.model", "fold-1.test".
std::vector<Fold> LoadFolds(const fs::path& path, bool training) {
  std::vector<Fold> folds;
  for (const auto& [key, value] : LoadToml(path)) {
    const size_t dot = key.rfind('.');
    const std::string field = dot == std::string::npos ? key : key.substr(dot + 1);
    if (dot == std::string::npos || (field != "model" && field != "test" && field != "train"))
      Fail(path, value, StrCat("unknown key \"", key, "\": a fold has model, test and train"));
    const std::string name = key.substr(0, dot);
    if (folds.empty() || folds.back().name != name) folds.push_back({name, {}, {}, {}});
    if (field == "test") {
      folds.back().test = ReadNames(path, value);
    } else if (field == "train") {
      folds.back().train = ReadNames(path, value);
    } else {
      const auto* model = std::get_if<std::string>(&value.value);
      if (model == nullptr) Fail(path, value, "model must be a string");
      folds.back().model = path.parent_path() / *model;
    }
  }
  for (const Fold& fold : folds) {
    if (fold.test.empty()) throw InputError(path, StrCat("fold \"", fold.name, "\" has no test"));
    if (training && fold.train.empty())
      throw InputError(path, StrCat("fold \"", fold.name, "\" has nothing to train on"));
    if (training) continue;
    if (fold.model.empty())
      throw InputError(path, StrCat("fold \"", fold.name, "\" has no model (--train makes one)"));
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

// What a fold trains and is tested on, as folders.
struct FoldSequences {
  std::vector<NamedSequence> test, train;
};

// A name or a folder that is among both is refused: the same subject may be tested in two folds, but never by
// a model that saw it.
FoldSequences ResolveFold(const Fold& fold, const fs::path& path, const StudyRunOptions& options) {
  FoldSequences found;
  for (const std::string& name : fold.test) found.test.push_back(FindSequence(name, path, options));
  for (const std::string& name : fold.train) {
    found.train.push_back(FindSequence(name, path, options));
    const NamedSequence& taught = found.train.back();
    for (const NamedSequence& tested : found.test) {
      if (tested.name == taught.name || fs::equivalent(tested.folder, taught.folder))
        throw InputError(path,
                         StrCat("fold \"", fold.name, "\" trains on ", name, ", which it is tested on"));
    }
  }
  return found;
}

// Makes a fold's model, or goes on making it; one that is finished stays.
fs::path TrainFold(const Fold& fold, const std::vector<NamedSequence>& data, const FoldTraining& training,
                   const fs::path& out) {
  TrainingRequest request;
  request.out = out / "folds" / fold.name;
  request.device = training.device;
  request.word_subjects = 24;
  std::string recipe;
  for (const NamedSequence& sequence : data) {
    request.data.push_back(sequence.folder);
    recipe += StrCat(sequence.folder.string(), "\n");
  }
  const auto add = [&](bool given, const char* name, const auto& value) {
    if (given) request.arguments.push_back(StrCat(name, "=", value));
  };
  add(!training.init.empty(), "init", training.init.string());
  add(training.minutes > 0, "minutes", training.minutes);
  add(training.steps > 0, "steps", training.steps);
  add(training.sim_share > 0, "sim_share", training.sim_share);
  request.arguments.insert(request.arguments.end(), training.settings.begin(), training.settings.end());
  for (const std::string& argument : request.arguments) recipe += argument + "\n";
  // What it was made by is written first, and what shows that it is finished last.
  const fs::path recipe_file = request.out / "recipe.txt", finished = request.out / "finished";
  if (fs::exists(recipe_file) && ReadFile(recipe_file) != recipe)
    throw InputError(request.out, "was trained in another way: remove it, or choose another --out");
  if (fs::exists(finished)) return TrainedModel(request.out);
  MakeDirectories(request.out);
  WriteFileAtomically(recipe_file, recipe);
  add(fs::exists(request.out / "checkpoint.json"), "resume", "true");
  LogInfo("training ", fold.name, " on ", data.size(), " sequences");
  if (!RunTraining(request)) throw ExitRequest{kInterrupted};
  WriteFileAtomically(finished, "");
  return TrainedModel(request.out);
}

// Every tested sequence once more with the model the folds are compared with, under the names the pooled row
// has.
void AddComparison(const Study& runs, const std::string& against, Study& pooled) {
  const std::vector<StudyEntry> entries = pooled.entries;
  for (const StudyEntry& entry : entries) {
    if (entry.variant != kPooled) continue;
    const std::string sequence = entry.sequence.substr(entry.sequence.find('/') + 1);
    if (const StudyEntry* found = FindEntry(runs, against, sequence)) {
      StudyEntry copied = *found;
      copied.sequence = entry.sequence;
      pooled.entries.push_back(std::move(copied));
    }
  }
}

void RunCrossSubject(const fs::path& path, const StudyRunOptions& options, const FoldTraining& training) {
  std::vector<Fold> folds = LoadFolds(path, training.wanted);
  std::vector<FoldSequences> sequences;
  for (const Fold& fold : folds) sequences.push_back(ResolveFold(fold, path, options));
  std::vector<StudyCell> cells;
  for (size_t f = 0; f < folds.size(); ++f) {
    if (training.wanted)
      folds[f].model = TrainFold(folds[f], sequences[f].train, training, options.study.out);
    for (const NamedSequence& sequence : sequences[f].test)
      cells.push_back({folds[f].name, sequence.name, sequence.folder, options.settings, folds[f].model});
  }
  // With a model to compare with (--model), it runs every tested sequence too.
  constexpr const char* kAgainst = "one model";
  std::set<std::string> again;
  for (const FoldSequences& fold : sequences) {
    for (const NamedSequence& sequence : fold.test) {
      if (!options.model.empty() && again.insert(sequence.name).second)
        cells.push_back({kAgainst, sequence.name, sequence.folder, options.settings, options.model});
    }
  }
  const Study all = RunStudy("Cross-subject", cells, options.study, options.run_arguments);
  Study pooled = all;
  std::erase(pooled.variants, kAgainst);
  std::erase_if(pooled.entries, [&](const StudyEntry& entry) { return entry.variant == kAgainst; });
  AddPooled(pooled);
  if (!options.model.empty()) {
    AddComparison(all, kAgainst, pooled);
    pooled.variants.insert(pooled.variants.begin() + 1, kAgainst);
    pooled.notes.push_back(StrCat("\"", kAgainst, "\": ", options.model.filename().string(),
                                  " on the same sequences; its t-test is paired by sequence."));
    pooled.tests = true;  // against the pooled row: the folds themselves share no sequence with it
  }
  for (const Fold& fold : folds)
    pooled.notes.push_back(
        StrCat(fold.name, ": model ", fold.model.filename().string(),
               training.wanted ? StrCat(", trained on ", fold.train.size(), " sequences") : ""));
  pooled.record["model"] = "each fold's own";
  ReportStudy(std::move(pooled), options, "");
  RequireAllCells(all);
}

}  // namespace

void AddStudyCrossSubjectCommand(Command& study) {
  Command& command = study.AddCommand("cross-subject", "grade each sequence with a model that never saw it");
  struct State {
    fs::path folds;
    StudyRunOptions options;
    FoldTraining training;
  };
  auto state = std::make_shared<State>();
  command.Add("FOLDS", state->folds, "TOML file: which model is tested on which sequences").Required();
  AddStudyRunOptions(command, state->options);
  command.AddAnswer("--example", kExample, "print the paper's four splits as such a file");
  command.AddFlag("--train", state->training.wanted, "train each fold's model first, on its `train`");
  command.Add("--init", state->training.init, "weights that every fold's training starts from");
  command.Add("--minutes", state->training.minutes, "of training, each fold").Within(1e-3, 1e6);
  command.Add("--steps", state->training.steps, "of training, each fold, instead").Within(1, 1000000000);
  command.Add("--sim-share", state->training.sim_share, "of simulated scenes beside the folds' own")
      .Within(0.0, 0.99)
      .ShowDefault();
  command.Add("--train-set", state->training.settings, "any other option of the training, as name=value");
  AddDeviceOption(command, state->training.device);
  command.Do([state] { RunCrossSubject(state->folds, state->options, state->training); });
}

}  // namespace lumen
