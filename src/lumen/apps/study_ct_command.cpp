#include <iostream>

#include "lumen/apps/app.h"
#include "lumen/apps/ct_live_study.h"
#include "lumen/apps/ct_study.h"
#include "lumen/apps/ct_volume_study.h"
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

struct CtChoice {
  std::string volumes;  // kinds; empty: the organ's own wall
  int wrong_pairs = 0;
  bool live = false;
};

void RegisterToVolumes(const StudyRunOptions& options, const CtChoice& choice, const CtStudyOptions& ct,
                       const std::vector<NamedSequence>& sequences) {
  std::vector<fs::path> runs;
  for (const NamedSequence& sequence : sequences)
    runs.push_back(CellFolder(options.study.out, "lumen", sequence.name) / "run");
  const std::string table = FormatCtVolumes(StudyCtVolumes(
      sequences, runs, ParseCtKinds(choice.volumes), choice.wrong_pairs, ct, options.study.out / "volumes"));
  WriteFileAtomically(options.study.out / "ct_volumes.md", table);
  std::cout << table;
}

void RegisterLive(const StudyRunOptions& options, const CtChoice& choice,
                  const std::vector<NamedSequence>& sequences) {
  const std::vector<CtKind> kinds = ParseCtKinds(choice.volumes.empty() ? "1" : choice.volumes);
  const std::string table = FormatCtLive(StudyCtLive(sequences, kinds, choice.wrong_pairs, options));
  WriteFileAtomically(options.study.out / "ct_live.md", table);
  std::cout << table;
}

// Runs are cells of the same kind as `study suite`'s: a finished suite in the same folder is not run again.
void RunCt(const StudyRunOptions& options, const CtChoice& choice, const CtStudyOptions& ct) {
  if (!choice.volumes.empty()) ParseCtKinds(choice.volumes);  // before minutes are spent
  const std::vector<NamedSequence> sequences = ResolveSequences(options);
  if (choice.live) return RegisterLive(options, choice, sequences);
  std::vector<StudyCell> cells;
  for (const NamedSequence& sequence : sequences)
    cells.push_back({"lumen", sequence.name, sequence.folder, options.settings, options.model});
  RunStudy("CT", cells, options.study, options.run_arguments);
  if (!choice.volumes.empty()) return RegisterToVolumes(options, choice, ct, sequences);
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
    CtChoice choice;
    CtStudyOptions ct;
  };
  auto state = std::make_shared<State>();
  command.Add("SEQUENCE", state->options.sequences,
              "sequences with truth and model.ply, instead of the suite");
  AddStudyRunOptions(command, state->options);
  command.Add("--volumes", state->choice.volumes,
              "whole CTs around the organ instead: spacings in mm, e.g. 1,0.7x1.5,1+fluid,1+offset,1+noise");
  command.AddFlag("--live", state->choice.live,
                  "registered while each run goes on, to whole CTs (--volumes, else 1)");
  command.Add("--wrong", state->choice.wrong_pairs, "pairs of a video and another patient's or organ's CT")
      .Within(0, 1000);
  command.Do([state] { RunCt(state->options, state->choice, state->ct); });
}

}  // namespace lumen
