#include "lumen/apps/study.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "lumen/apps/app.h"
#include "lumen/apps/eval_pictures.h"
#include "lumen/apps/interrupt.h"
#include "lumen/apps/made_with.h"
#include "lumen/apps/simulate_sequence.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/base/parallel.h"
#include "lumen/base/progress.h"
#include "lumen/io/sequence_folder.h"
#include "lumen/sim/suite.h"

namespace lumen {

namespace fs = std::filesystem;

fs::path CellFolder(const fs::path& out, const std::string& variant, const std::string& sequence) {
  return out / "cells" / FolderName(variant) / FolderName(sequence);
}

namespace {

// What makes a cell the same cell.
Json CellIdentity(const StudyCell& cell, ModelHashes& models) {
  Json identity = Json::MakeObject();
  identity["sequence"] = cell.sequence;
  identity["folder"] = fs::absolute(cell.folder).lexically_normal().string();
  identity["settings"] = Json::MakeArray();
  for (const std::string& setting : cell.settings) identity["settings"].Append(setting);
  identity["model_hash"] = models.Of(cell.model);
  if (!cell.arguments.empty()) identity["arguments"] = Json::MakeArray();
  for (const std::string& argument : cell.arguments) identity["arguments"].Append(argument);
  return identity;
}

// A cell on its way through the study.
struct Work {
  StudyCell cell;
  fs::path folder;
  Json identity;
  std::optional<Json> finished;  // its cell.json, if it need not run
  StudyEntry entry;
};

// Whether the record may stand; throws where only the user can say.
bool MayKeep(const Work& work, const Json& record, const StudyOptions& options) {
  if (record.At("identity") != work.identity) {
    if (options.rerun) return false;
    throw InputError(work.folder,
                     StrCat("was run with other settings, model or sequence (", record.At("identity").Dump(),
                            "): choose another --out, or --rerun"));
  }
  const std::string& version = record.At("version").AsString();
  if (version == OwnVersion() || (options.allow_mixed_versions && !options.rerun)) return true;
  if (options.rerun) return false;
  throw InputError(work.folder, StrCat("was run by Lumen ", version, ", this is ", OwnVersion(),
                                       ": --rerun it, or --allow-mixed-versions"));
}

std::vector<Work> PlanWork(const std::vector<StudyCell>& cells, const StudyOptions& options) {
  ModelHashes models;
  std::vector<Work> plan;
  std::set<fs::path> folders;
  for (const StudyCell& cell : cells) {
    Work work{cell, CellFolder(options.out, cell.variant, cell.sequence), CellIdentity(cell, models), {}, {}};
    if (!folders.insert(work.folder).second)
      throw InputError(StrCat("\"", cell.sequence, "\" is given twice for \"", cell.variant, "\""));
    work.entry.variant = cell.variant;
    work.entry.sequence = cell.sequence;
    if (fs::exists(work.folder / "cell.json")) {
      Json record = Json::Load(work.folder / "cell.json");
      if (MayKeep(work, record, options)) work.finished = std::move(record);
    }
    plan.push_back(std::move(work));
  }
  return plan;
}

void WriteFigures(const fs::path& folder, const std::vector<NamedFigure>& figures) {
  for (const NamedFigure& figure : figures) WriteFileAtomically(folder / (figure.name + ".svg"), figure.svg);
}

// Runs and grades one cell; its record is written last, so that a cell is finished or not there.
Json RunOne(const Work& work, const StudyOptions& options, const RunCell& run) {
  fs::remove_all(work.folder);
  MakeDirectories(work.folder);
  const Stopwatch watch;
  run(work.cell, work.folder / "run");
  const double seconds = watch.ElapsedMs() / 1000;
  const Truth truth = LoadTruth(work.cell.folder);
  Estimate estimate = LoadRunEstimate(work.folder / "run");
  estimate.name = work.cell.variant;
  const Grading grading = GradeEstimate(estimate, truth, options.grading);
  WriteFigures(work.folder, DrawGrading(grading, estimate, truth, options.grading));
  Json record = Json::MakeObject();
  record["variant"] = work.cell.variant;
  record["identity"] = work.identity;
  record["version"] = OwnVersion();
  record["seconds"] = seconds;
  record["grades"] = GradingToJson(grading, estimate, truth);
  WriteFileAtomically(work.folder / "cell.json", record.Dump(2) + "\n");
  return record;
}

void RunPlan(std::vector<Work>& plan, const StudyOptions& options, const RunCell& run) {
  std::vector<size_t> todo;
  for (size_t i = 0; i < plan.size(); ++i)
    if (!plan[i].finished) todo.push_back(i);
  if (todo.size() < plan.size())
    LogInfo(plan.size() - todo.size(), " of ", plan.size(), " cells are finished already");
  if (todo.empty()) return;
  ProgressBar progress("study", static_cast<int64_t>(todo.size()));
  const int jobs = options.jobs > 0 ? options.jobs : AvailableCores();
  std::mutex mutex;
  int64_t done = 0;
  ParallelFor(static_cast<int64_t>(todo.size()), jobs, [&](int64_t i) {
    if (IsInterrupted()) return;
    Work& work = plan[todo[static_cast<size_t>(i)]];
    try {
      work.finished = RunOne(work, options, run);
    } catch (const InputError& error) {
      work.entry.failure = error.what();
    } catch (const OutputError& error) {
      work.entry.failure = error.what();
    }
    const std::lock_guard lock(mutex);
    progress.Update(++done, StrCat(work.cell.variant, ", ", work.cell.sequence));
    if (!work.entry.failure.empty())
      LogError(work.cell.variant, ", ", work.cell.sequence, ": ", work.entry.failure);
  });
}

template <typename Field>
std::vector<std::string> Distinct(const std::vector<StudyCell>& cells, Field field) {
  std::vector<std::string> names;
  for (const StudyCell& cell : cells)
    if (std::find(names.begin(), names.end(), cell.*field) == names.end()) names.push_back(cell.*field);
  return names;
}

}  // namespace

Study RunStudy(const std::string& title, const std::vector<StudyCell>& cells, const StudyOptions& options,
               const RunCell& run) {
  std::vector<Work> plan = PlanWork(cells, options);
  MakeDirectories(options.out);
  CatchInterrupts();
  RunPlan(plan, options, run);
  EndIfInterrupted("the same command goes on with the cells that are left");
  Study study;
  study.title = title;
  study.variants = Distinct(cells, &StudyCell::variant);
  study.sequences = Distinct(cells, &StudyCell::sequence);
  std::vector<std::string> versions;
  for (Work& work : plan) {
    if (work.finished) {
      work.entry.grades = Grades::FromJson(work.finished->At("grades"));
      versions.push_back(work.finished->At("version").AsString());
    }
    study.entries.push_back(std::move(work.entry));
  }
  RequireOneVersion(versions, options.allow_mixed_versions, study);
  return study;
}

void RequireOneVersion(const std::vector<std::string>& versions, bool allowed, Study& study) {
  std::set<std::string> known(versions.begin(), versions.end());
  known.erase("");
  std::string all;
  for (const std::string& version : known) all += (all.empty() ? "" : ", ") + version;
  if (known.size() > 1 && !allowed)
    throw InputError(
        StrCat("runs of different versions of Lumen: ", all, "; --allow-mixed-versions to compare"));
  if (known.size() > 1) study.notes.push_back(StrCat("Runs of different versions are compared: ", all, "."));
  if (!all.empty()) study.record["lumen"] = all;
}

std::vector<CaptionedFigure> CollectFigures(const Study& study, const std::string& variant,
                                            const fs::path& out) {
  std::vector<CaptionedFigure> figures;
  for (const std::string& sequence : study.sequences) {
    for (const char* name : {"trajectory.svg", "errors.svg"}) {
      const fs::path file = CellFolder(out, variant, sequence) / name;
      if (fs::exists(file)) figures.push_back({StrCat(sequence, ", ", variant), ReadFile(file)});
    }
  }
  return figures;
}

void WriteStudy(const Study& study, const fs::path& out, const std::vector<CaptionedFigure>& figures) {
  MakeDirectories(out);
  WriteFileAtomically(out / "study.md", FormatMarkdown(study));
  WriteFileAtomically(out / "study.csv", FormatCsv(study));
  WriteFileAtomically(out / "study.json", StudyToJson(study).Dump(2) + "\n");
  WriteFileAtomically(out / "study.html", FormatHtml(study, figures));
  WriteFileAtomically(out / "boxes.svg", DrawStudyBoxes(study));
}

std::vector<fs::path> PrepareSuite(const SuiteChoice& choice) {
  CatchInterrupts();
  std::vector<std::string> names = choice.subjects;
  if (names.empty())
    for (const SuiteSubject& subject : kBenchmarkSuite) names.emplace_back(subject.name);
  std::vector<fs::path> folders;
  for (const std::string& name : names) {
    const SuiteLens lens = ParseSuiteLens(choice.lens);
    SequenceOptions options = MakeSuiteOptions(FindSuiteSubject(name), lens);
    options.threads = AvailableCores();
    options.degradations = ParseDegradations(choice.degradations);
    if (choice.frames > 0) options.path.frames = choice.frames;
    if (!choice.size.empty()) {
      const PixelSize size = ParsePixelSize(choice.size);
      options.width = size.width;
      options.height = size.height;
      if (options.camera) options.camera = MakeWideLens(size.width, size.height);
    }
    const fs::path folder = choice.data / (lens == SuiteLens::kWide ? name + "-wide" : name);
    if (IsSequenceFolder(folder)) {
      const SourceInfo info = OpenSequenceFolder(folder)->Info();
      if (info.frame_count != options.path.frames || info.width != options.width)
        throw InputError(folder,
                         StrCat("holds ", info.frame_count, " frames of width ", info.width, ", not ",
                                options.path.frames, " of ", options.width, ": choose another --data"));
    } else {
      const fs::path partial =
          choice.data / (folder.filename().string() + ".partial");  // never taken for the whole
      fs::remove_all(partial);
      WriteSimulatedSequence(options, name, partial, {.coverage = choice.coverage});
      fs::rename(partial, folder);
      LogInfo("simulated ", name, " into ", folder.string());
    }
    folders.push_back(folder);
  }
  return folders;
}

}  // namespace lumen
