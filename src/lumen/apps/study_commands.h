// The studies under `lumen study`, and what their commands share.
#pragma once

#include "lumen/apps/command.h"
#include "lumen/apps/study.h"

namespace lumen {

// Each adds one study to `lumen study`.
void AddStudySuiteCommand(Command& study);
void AddStudyAblationCommand(Command& study);
void AddStudyCrossSubjectCommand(Command& study);
void AddStudyCompareCommand(Command& study);
void AddStudyCtCommand(Command& study);
void AddStudyPriorsCommand(Command& study);
void AddStudyUncertaintyCommand(Command& study);
void AddStudyStatusesCommand(Command& study);
void AddStudyCoverageCommand(Command& study);

// Options of the studies that run SLAM.
struct StudyRunOptions {
  std::vector<std::filesystem::path> sequences;  // empty: the suite
  SuiteChoice suite;
  std::filesystem::path model;
  std::vector<std::string> settings;
  std::vector<std::string> run_arguments;
  StudyOptions study;
};
void AddStudyRunOptions(Command& command, StudyRunOptions& options);
// The sequences as folders by name: those given, or the suite's.
struct NamedSequence {
  std::string name;
  std::filesystem::path folder;
};
std::vector<NamedSequence> ResolveSequences(const StudyRunOptions& options);

// Adds what the numbers come from, writes the report and prints it.
void ReportStudy(Study study, const StudyRunOptions& options, const std::string& figures_of);
// Throws InputError if any cell failed: the report says which.
void RequireAllCells(const Study& study);

}  // namespace lumen
