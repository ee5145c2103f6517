#include <iostream>

#include "lumen/apps/app.h"
#include "lumen/apps/ct_study.h"
#include "lumen/apps/study_commands.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

CtEntry RegisterCell(const NamedSequence& sequence, const fs::path& run, const CtStudyOptions& options) {
  try {
    return RegisterRunToTruth(run, sequence.folder, options);
  } catch (const InputError& error) {
    CtEntry entry;
    entry.sequence = sequence.name;
    entry.failure = error.what();
    LogError(sequence.name, ": ", entry.failure);
    return entry;
  }
}

// Runs are cells of the same kind as `study suite`'s: a finished suite in the same folder is not run again.
void RunCt(const StudyRunOptions& options, const CtStudyOptions& ct) {
  const std::vector<NamedSequence> sequences = ResolveSequences(options);
  std::vector<StudyCell> cells;
  for (const NamedSequence& sequence : sequences)
    cells.push_back({"lumen", sequence.name, sequence.folder, options.settings, options.model});
  RunStudy("CT", cells, options.study, MakeProgramRunner(options.run_arguments));
  std::vector<CtEntry> entries;
  for (const NamedSequence& sequence : sequences) {
    entries.push_back(
        RegisterCell(sequence, CellFolder(options.study.out, "lumen", sequence.name) / "run", ct));
    LogInfo("registered ", sequence.name);
  }
  const std::string table = FormatCtMarkdown(entries);
  WriteFileAtomically(options.study.out / "ct.md", table);
  WriteFileAtomically(options.study.out / "ct.json", CtStudyToJson(entries).Dump(2) + "\n");
  std::cout << table;
}

}  // namespace

void AddStudyCtCommand(Command& study) {
  Command& command = study.AddCommand("ct", "register each run's surface to the anatomy it was simulated in");
  struct State {
    StudyRunOptions options;
    CtStudyOptions ct;
  };
  auto state = std::make_shared<State>();
  command.Add("SEQUENCE", state->options.sequences,
              "sequences with truth and model.ply, instead of the suite");
  AddStudyRunOptions(command, state->options);
  command.Do([state] { RunCt(state->options, state->ct); });
}

}  // namespace lumen
