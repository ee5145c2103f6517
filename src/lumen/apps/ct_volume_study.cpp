#include "lumen/apps/ct_volume_study.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "lumen/apps/interrupt.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/base/parallel.h"
#include "lumen/base/text.h"
#include "lumen/base/timer.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr double kCloseEnough = 2;  // mm at the camera

double ParseSpacing(const std::string& text, const std::string& kind) {
  const auto number = ParseDouble(text);
  if (!number || !(*number > 0))
    throw InputError(StrCat("--volumes ", kind, ": \"", text, "\" is no spacing in mm"));
  return *number;
}

CtKind ParseCtKind(const std::string& text) {
  CtKind kind;
  kind.name = text;
  const std::vector<std::string> words = Split(text, '+');
  const std::vector<std::string> spacings = Split(words.front(), 'x');
  kind.scan.pixel_mm = ParseSpacing(spacings.front(), text);
  kind.scan.slice_mm = ParseSpacing(spacings.back(), text);
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "offset")
      kind.scan.offset = 1024;
    else if (words[i] == "fluid")
      kind.scan.fluid = true;
    else if (words[i] == "noise")
      kind.scan.noise = 60;
    else
      throw InputError(StrCat("--volumes ", text, ": no such kind: ", words[i], " (offset, fluid or noise)"));
  }
  CheckCtScan(kind.scan);
  return kind;
}

struct Patient {
  AnatomyKind kind = AnatomyKind::kNasal;
  uint64_t seed = 0;
};

Patient ParsePatient(const std::string& name) {
  const size_t dash = name.rfind('-');
  const auto seed = dash == std::string::npos ? std::nullopt : ParseInteger(name.substr(dash + 1));
  if (!seed || *seed < 0)
    throw InputError(StrCat(name, ": is not named KIND-SEED, so that its CT cannot be made"));
  return {ParseAnatomyKind(name.substr(0, dash)), static_cast<uint64_t>(*seed)};
}

struct ScannedPatient {
  RegistrationModel model;
  Rigid3 ct_from_world;
  std::string failure;  // why there is no model
  double seconds = 0;
};

ScannedPatient Scan(const std::string& name, const CtKind& kind) {
  const int threads = AvailableCores();
  const SimulatedCt ct = ScanPatient(name, kind);
  ScannedPatient scanned;
  scanned.ct_from_world = ct.lps_from_anatomy;
  const Stopwatch watch;
  try {
    scanned.model = JoinAirSpaces({.path = name}, FindAirSpaces(ct.volume, name, {}, threads));
  } catch (const InputError& error) {
    scanned.failure = error.what();
  }
  scanned.seconds = watch.ElapsedMs() / 1000;
  return scanned;
}

CtOutcome Try(const PlacedRun& run, const ScannedPatient& patient, const std::optional<Sim3>& guess,
              const CtStudyOptions& options, int* cavity) {
  const Stopwatch watch;
  const SurfaceRegistration registration =
      RegisterSurface(run.input.surface, patient.model.wall, guess, options.registration, AvailableCores(),
                      {PathOf(run.input.frames), true, run.input.measured});
  CtOutcome outcome;
  outcome.seconds = watch.ElapsedMs() / 1000;
  outcome.status =
      registration.status == SurfaceRegistrationStatus::kRegistered ? "registered" : "not registered";
  outcome.confident = registration.confident;
  outcome.residual = registration.residual_mean;
  outcome.matched = registration.matched_share;
  const Sim3 world_from_ct(1, patient.ct_from_world.Inverse().Rotation(),
                           patient.ct_from_world.Inverse().Translation());
  outcome.error = MeasureCameras(run, world_from_ct * registration.model_from_surface);
  const RegistrationPlace place = FindPlace(run.input, patient.model, registration);
  if (cavity != nullptr) *cavity = place.cavity;
  outcome.registration = RegistrationToJson(registration, place);
  return outcome;
}

Json OutcomeToJson(const CtOutcome& outcome) {
  Json json = Json::MakeObject();
  json["status"] = outcome.status;
  json["confident"] = outcome.confident;
  json["residual_mean_mm"] = outcome.residual;
  json["matched_share"] = outcome.matched;
  json["camera_error_mm"] = outcome.error.mm;
  json["camera_error_deg"] = outcome.error.degrees;
  json["seconds"] = outcome.seconds;
  json["registration"] = outcome.registration;
  return json;
}

CtOutcome OutcomeFromJson(const Json& json) {
  CtOutcome outcome;
  outcome.status = json.At("status").AsString();
  outcome.confident = json.At("confident").AsBool();
  outcome.residual = json.At("residual_mean_mm").AsDouble();
  outcome.matched = json.At("matched_share").AsDouble();
  outcome.error = {json.At("camera_error_mm").AsDouble(), json.At("camera_error_deg").AsDouble()};
  outcome.seconds = json.At("seconds").AsDouble();
  if (const Json* registration = json.Find("registration")) outcome.registration = *registration;
  return outcome;
}

Json EntryToJson(const CtVolumeEntry& entry) {
  Json json = Json::MakeObject();
  json["run"] = entry.run;
  json["patient"] = entry.patient;
  json["kind"] = entry.kind;
  json["failure"] = entry.failure;
  json["spaces"] = entry.spaces;
  json["cavity"] = entry.cavity;
  json["model_seconds"] = entry.model_seconds;
  json["from_nothing"] = OutcomeToJson(entry.from_nothing);
  json["from_guess"] = OutcomeToJson(entry.from_guess);
  return json;
}

CtVolumeEntry EntryFromJson(const Json& json) {
  CtVolumeEntry entry;
  entry.run = json.At("run").AsString();
  entry.patient = json.At("patient").AsString();
  entry.kind = json.At("kind").AsString();
  entry.failure = json.At("failure").AsString();
  entry.spaces = static_cast<int>(json.At("spaces").AsDouble());
  entry.cavity = static_cast<int>(json.At("cavity").AsDouble());
  entry.model_seconds = json.At("model_seconds").AsDouble();
  entry.from_nothing = OutcomeFromJson(json.At("from_nothing"));
  entry.from_guess = OutcomeFromJson(json.At("from_guess"));
  return entry;
}

CtVolumeEntry StudyCtCell(const CtCell& cell, const std::vector<NamedSequence>& sequences,
                          const PlacedRun& run, const ScannedPatient& patient,
                          const CtStudyOptions& options) {
  CtVolumeEntry entry;
  entry.run = sequences[cell.run].name;
  entry.patient = sequences[cell.patient].name;
  entry.kind = cell.kind.name;
  entry.failure = patient.failure;
  entry.model_seconds = patient.seconds;
  if (!patient.failure.empty()) return entry;
  entry.spaces = static_cast<int>(patient.model.cavities.size());
  entry.from_nothing = Try(run, patient, std::nullopt, options, &entry.cavity);
  if (entry.Wrong()) return entry;
  const Sim3 truth =
      Sim3(1, patient.ct_from_world.Rotation(), patient.ct_from_world.Translation()) * run.world_from_map;
  entry.from_guess =
      Try(run, patient, MakeGuess(truth, run.input.surface, options, entry.run), options, nullptr);
  return entry;
}

std::string OutcomeCells(const CtOutcome& outcome) {
  if (!outcome.Registered()) return " not registered | | no |";
  char text[96];
  std::snprintf(text, sizeof(text), " %.2f, %.1f | %.2f, %.0f | %s |", outcome.error.mm,
                outcome.error.degrees, outcome.residual, 100 * outcome.matched,
                outcome.confident ? "yes" : "no");
  return text;
}

struct CtCounts {
  int all = 0, nothing = 0, guess = 0, unwarned = 0;
};

bool IsClose(const CtOutcome& outcome) { return outcome.Registered() && outcome.error.mm <= kCloseEnough; }

}  // namespace

SimulatedCt ScanPatient(const std::string& name, const CtKind& kind) {
  const Patient patient = ParsePatient(name);
  CtScanOptions scan = kind.scan;
  scan.seed = patient.seed;
  const int threads = AvailableCores();
  return ScanBody(*MakeAnatomy(patient.kind, patient.seed, threads), scan, threads);
}

std::vector<CtCell> PlanCtCells(const std::vector<NamedSequence>& sequences, const std::vector<CtKind>& kinds,
                                int wrong_pairs) {
  std::vector<CtCell> cells;
  const size_t count = sequences.size();
  for (const CtKind& kind : kinds)
    for (size_t i = 0; i < count; ++i) cells.push_back({i, i, kind});
  std::vector<CtCell> same, other;
  for (size_t step = 1; step < count; ++step) {
    for (size_t i = 0; i < count; ++i) {
      const size_t k = (i + step) % count;
      const bool alike = ParsePatient(sequences[i].name).kind == ParsePatient(sequences[k].name).kind;
      (alike ? same : other).push_back({i, k, kinds.front()});
    }
  }
  const auto half = static_cast<size_t>(wrong_pairs) / 2;
  const size_t alike = std::min(same.size(), half);
  cells.insert(cells.end(), same.begin(), same.begin() + static_cast<std::ptrdiff_t>(alike));
  const size_t rest = std::min(other.size(), static_cast<size_t>(wrong_pairs) - alike);
  cells.insert(cells.end(), other.begin(), other.begin() + static_cast<std::ptrdiff_t>(rest));
  // One scan after the other: making one takes longer than most of what is done with it.
  std::stable_sort(cells.begin(), cells.end(),
                   [](const CtCell& a, const CtCell& b) { return a.patient < b.patient; });
  return cells;
}

std::vector<CtKind> ParseCtKinds(const std::string& text) {
  std::vector<CtKind> kinds;
  for (const std::string& word : Split(text, ',')) kinds.push_back(ParseCtKind(Trim(word)));
  return kinds;
}

std::vector<CtVolumeEntry> StudyCtVolumes(const std::vector<NamedSequence>& sequences,
                                          const std::vector<fs::path>& runs, const std::vector<CtKind>& kinds,
                                          int wrong_pairs, const CtStudyOptions& options,
                                          const fs::path& folder) {
  MakeDirectories(folder);
  std::map<size_t, PlacedRun> placed;
  std::map<std::string, ScannedPatient> scanned;  // the last one
  std::vector<CtVolumeEntry> entries;
  for (const CtCell& cell : PlanCtCells(sequences, kinds, wrong_pairs)) {
    EndIfInterrupted();
    const std::string& run = sequences[cell.run].name;
    const std::string scan = StrCat(sequences[cell.patient].name, "_", cell.kind.name);
    const fs::path file = folder / StrCat(run, "_in_", scan, ".json");
    if (!fs::exists(file)) {
      if (!scanned.contains(scan)) {
        scanned.clear();
        scanned.emplace(scan, Scan(sequences[cell.patient].name, cell.kind));
      }
      if (!placed.contains(cell.run))
        placed.emplace(cell.run, LoadPlacedRun(runs[cell.run], sequences[cell.run].folder, options.fusion));
      const CtVolumeEntry entry =
          StudyCtCell(cell, sequences, placed.at(cell.run), scanned.at(scan), options);
      WriteFileAtomically(file, EntryToJson(entry).Dump(2) + "\n");
      LogInfo("registered ", run, " in ", scan, ": ",
              entry.failure.empty() ? entry.from_nothing.status : entry.failure);
    }
    entries.push_back(EntryFromJson(Json::Load(file)));
  }
  return entries;
}

std::string FormatCtVolumes(const std::vector<CtVolumeEntry>& entries) {
  std::string text =
      "| video | CT, mm | from nothing: camera, mm and ° | residual, mm; matched, % | confident | from a "
      "guess: camera "
      "| residual; matched | confident | spaces searched | s: spaces, from nothing |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n";
  std::map<std::string, CtCounts> counts;
  std::string wrong;
  int pairs = 0, registered = 0, confident = 0;
  for (const CtVolumeEntry& entry : entries) {
    if (entry.Wrong()) {
      ++pairs;
      registered += entry.from_nothing.Registered() ? 1 : 0;
      confident += entry.from_nothing.confident ? 1 : 0;
      if (entry.from_nothing.Registered())
        wrong += StrCat(wrong.empty() ? "" : ", ", entry.run, " in ", entry.patient,
                        entry.from_nothing.confident ? " (confident)" : "");
      continue;
    }
    CtCounts& count = counts[entry.kind];
    ++count.all;
    if (!entry.failure.empty()) {
      text += StrCat("| ", entry.run, " | ", entry.kind, " | failed: ", entry.failure, " | | | | | | | |\n");
      continue;
    }
    count.nothing += IsClose(entry.from_nothing) ? 1 : 0;
    count.guess += IsClose(entry.from_guess) ? 1 : 0;
    count.unwarned += entry.from_nothing.confident && !IsClose(entry.from_nothing) ? 1 : 0;
    char tail[64];
    std::snprintf(tail, sizeof(tail), " %d | %.0f, %.0f |\n", entry.spaces, entry.model_seconds,
                  entry.from_nothing.seconds);
    text += StrCat("| ", entry.run, " | ", entry.kind, " |", OutcomeCells(entry.from_nothing),
                   OutcomeCells(entry.from_guess), tail);
  }
  text += "\n";
  for (const auto& [kind, count] : counts)
    text += StrCat("CT of ", kind, " mm: cameras within ", kCloseEnough, " mm from nothing ", count.nothing,
                   ", from a guess ", count.guess, " of ", count.all,
                   "; wrong from nothing and yet confident: ", count.unwarned, ".\n");
  if (pairs > 0)
    text += StrCat("Another patient or another organ, ", pairs, " pairs: registered ", registered,
                   ", confident ", confident, wrong.empty() ? "" : ": ", wrong, ".\n");
  return text;
}

}  // namespace lumen
