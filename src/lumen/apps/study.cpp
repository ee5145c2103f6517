#include "lumen/apps/study_cell.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "lumen/apps/app.h"
#include "lumen/apps/interrupt.h"
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

// A cell on its way through the study.
struct Work {
  CellWork work;
  std::optional<Json> finished;  // its cell.json, if it need not run
  StudyEntry entry;
  std::string Name() const { return StrCat(work.cell.variant, ", ", work.cell.sequence); }
};

// Whether the record may stand; throws where only the user can say.
bool MayKeep(const Work& work, const Json& record, const StudyOptions& options) {
  // As text, which is what a name that is none has become in the record.
  if (record.At("identity").Dump() != CellIdentity(work.work).Dump()) {
    if (options.rerun) return false;
    throw InputError(work.work.folder,
                     StrCat("was run with other settings, model or sequence (", record.At("identity").Dump(),
                            "): choose another --out, or --rerun"));
  }
  const std::string& version = record.At("version").AsString();
  if (version == OwnVersion() || (options.allow_mixed_versions && !options.rerun)) return true;
  if (options.rerun) return false;
  throw InputError(work.work.folder, StrCat("was run by Lumen ", version, ", this is ", OwnVersion(),
                                            ": --rerun it, or --allow-mixed-versions"));
}

std::vector<Work> PlanWork(const std::vector<StudyCell>& cells, const StudyOptions& options) {
  ModelHashes models;
  std::vector<Work> plan;
  std::set<fs::path> folders;
  for (const StudyCell& cell : cells) {
    Work work;
    work.work = {cell, CellFolder(options.out, cell.variant, cell.sequence), models.Of(cell.model),
                 options.grading};
    const fs::path& folder = work.work.folder;
    if (!folders.insert(folder).second)
      throw InputError(StrCat("\"", cell.sequence, "\" is given twice for \"", cell.variant, "\""));
    work.entry.variant = cell.variant;
    work.entry.sequence = cell.sequence;
    if (fs::exists(folder / kCellRecord)) {
      Json record = Json::Load(folder / kCellRecord);
      if (MayKeep(work, record, options)) work.finished = std::move(record);
    }
    plan.push_back(std::move(work));
  }
  return plan;
}

// Told of what becomes of each cell.
class StudyProgress {
 public:
  explicit StudyProgress(size_t cells) : bar_("study", static_cast<int64_t>(cells)) {}
  void Tell(const Work& work) {
    const std::lock_guard lock(mutex_);
    bar_.Update(++done_, work.Name());
    if (!work.entry.failure.empty()) LogError(work.Name(), ": ", work.entry.failure);
  }

 private:
  std::mutex mutex_;
  ProgressBar bar_;
  int64_t done_ = 0;
};

using DoCells = std::function<void(const std::vector<Work*>& todo, StudyProgress& progress)>;

// In this process, so many at a time.
void DoCellsHere(const std::vector<Work*>& todo, const StudyOptions& options, const RunCell& run,
                 StudyProgress& progress) {
  const int jobs = options.tasks.jobs > 0 ? options.tasks.jobs : AvailableCores();
  ParallelFor(static_cast<int64_t>(todo.size()), jobs, [&](int64_t i) {
    if (IsInterrupted()) return;
    Work& work = *todo[static_cast<size_t>(i)];
    try {
      work.finished = RunAndGrade(work.work, run);
    } catch (const InputError& error) {
      work.entry.failure = error.what();
    } catch (const OutputError& error) {
      work.entry.failure = error.what();
    }
    progress.Tell(work);
  });
}

// Each a process of this program, wherever.
void DoCellsAsTasks(const std::vector<Work*>& todo, const StudyOptions& options,
                    const std::vector<std::string>& run_arguments, StudyProgress& progress) {
  std::vector<Task> tasks;
  for (Work* work : todo) {
    std::error_code none;
    fs::remove(work->work.folder / kCellRecord, none);  // of other settings: it is run again
    tasks.push_back(MakeCellTask(work->Name(), work->work, run_arguments));
  }
  const auto engine = MakeTaskEngine(options.tasks, options.out);
  engine->Run(tasks, [&](size_t i, const TaskOutcome& outcome) {
    Work& work = *todo[i];
    if (outcome.state == TaskOutcome::State::kDone)
      work.finished = Json::Load(tasks[i].record);
    else
      work.entry.failure = outcome.reason;
    progress.Tell(work);
  });
}

void DoPlan(std::vector<Work>& plan, const DoCells& do_cells) {
  std::vector<Work*> todo;
  for (Work& work : plan)
    if (!work.finished) todo.push_back(&work);
  if (todo.size() < plan.size())
    LogInfo(plan.size() - todo.size(), " of ", plan.size(), " cells are finished already");
  if (todo.empty()) return;
  StudyProgress progress(todo.size());
  do_cells(todo, progress);
}

template <typename Field>
std::vector<std::string> Distinct(const std::vector<StudyCell>& cells, Field field) {
  std::vector<std::string> names;
  for (const StudyCell& cell : cells)
    if (std::find(names.begin(), names.end(), cell.*field) == names.end()) names.push_back(cell.*field);
  return names;
}

}  // namespace

namespace {

Study DoStudy(const std::string& title, const std::vector<StudyCell>& cells, const StudyOptions& options,
              const DoCells& do_cells) {
  std::vector<Work> plan = PlanWork(cells, options);
  MakeDirectories(options.out);
  CatchInterrupts();
  DoPlan(plan, do_cells);
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

}  // namespace

Study RunStudy(const std::string& title, const std::vector<StudyCell>& cells, const StudyOptions& options,
               const RunCell& run) {
  return DoStudy(title, cells, options, [&](const std::vector<Work*>& todo, StudyProgress& progress) {
    DoCellsHere(todo, options, run, progress);
  });
}

Study RunStudy(const std::string& title, const std::vector<StudyCell>& cells, const StudyOptions& options,
               const std::vector<std::string>& run_arguments) {
  return DoStudy(title, cells, options, [&](const std::vector<Work*>& todo, StudyProgress& progress) {
    DoCellsAsTasks(todo, options, run_arguments, progress);
  });
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
