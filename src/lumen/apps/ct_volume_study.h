// Registration to whole CTs, as hospitals have them: the simulator scans the body around each subject, and
// each run is registered to that, from nothing and from a guess, and to other patients' and other organs'
// scans, which must be refused.
#pragma once

#include <string>
#include <vector>

#include "lumen/apps/ct_study.h"
#include "lumen/apps/study_commands.h"
#include "lumen/sim/body.h"

namespace lumen {

// "1", "0.5", "1x2" (pixel and slice in mm), with "+offset", "+fluid", "+noise" behind it.
struct CtKind {
  std::string name;
  CtScanOptions scan;
};
std::vector<CtKind> ParseCtKinds(const std::string& text);  // separated by commas; throws InputError

// What became of one registration.
struct CtOutcome {
  std::string status;
  bool confident = false;
  double residual = 0, matched = 0;
  CameraError error;
  double seconds = 0;  // on the clock
  Json registration;   // all that was said of it

  bool Registered() const { return status == "registered"; }
};

struct CtVolumeEntry {
  std::string run, patient, kind;  // whose video, whose CT
  std::string failure;
  CtOutcome from_nothing, from_guess;
  int spaces = 0, cavity = 0;  // how many were searched, which it lies in
  double model_seconds = 0;    // to find the air spaces

  bool Wrong() const { return run != patient; }
};

struct CtCell {
  size_t run = 0, patient = 0;  // of the sequences
  CtKind kind;
};
// Half of the wrong ones are another patient's same organ, where there is one; half another organ. Scan by
// scan.
std::vector<CtCell> PlanCtCells(const std::vector<NamedSequence>& sequences, const std::vector<CtKind>& kinds,
                                int wrong_pairs);
// The body around a subject that is named KIND-SEED; throws InputError.
SimulatedCt ScanPatient(const std::string& name, const CtKind& kind);

// Names of the sequences are KIND-SEED; their runs must be there. What `folder` holds already is not done
// again.
std::vector<CtVolumeEntry> StudyCtVolumes(const std::vector<NamedSequence>& sequences,
                                          const std::vector<std::filesystem::path>& runs,
                                          const std::vector<CtKind>& kinds, int wrong_pairs,
                                          const CtStudyOptions& options, const std::filesystem::path& folder);
std::string FormatCtVolumes(const std::vector<CtVolumeEntry>& entries);

}  // namespace lumen
