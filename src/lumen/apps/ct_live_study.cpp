#include "lumen/apps/ct_live_study.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "lumen/apps/interrupt.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/base/parallel.h"
#include "lumen/base/text.h"
#include "lumen/eval/association.h"
#include "lumen/io/run_folder.h"
#include "lumen/io/trajectory_file.h"
#include "lumen/io/volume_file.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

constexpr double kFar = 2.5;  // mm at the camera

struct ToldFrame {
  int64_t frame = 0;
  double sigma = 0;
};

std::vector<ToldFrame> LoadTold(const fs::path& path) {
  std::vector<ToldFrame> told;
  for (const std::string& line : Split(ReadFile(path), '\n')) {
    const std::vector<std::string> words = Split(line, ',');
    const auto frame = ParseInteger(words.front());
    const auto sigma = ParseDouble(words.back());
    if (frame && sigma) told.push_back({*frame, *sigma});
  }
  return told;
}

void AddCameras(const fs::path& run, const Truth& truth, const Rigid3& ct_from_world, CtLiveEntry& entry) {
  const Trajectory cameras = LoadTrajectory(run / run_file::kFramesCt);
  const std::vector<ToldFrame> told = LoadTold(run / run_file::kFramesCtUncertainty);
  if (cameras.size() != told.size()) throw InputError(run, "tells of other frames in its two files");
  entry.told = static_cast<int>(told.size());
  if (!told.empty()) entry.first = static_cast<int>(told.front().frame);
  const std::vector<PosePair> pairs = AssociateByTime(cameras, truth.trajectory);
  const auto count = static_cast<double>(pairs.size());
  double variance = 0;
  for (const PosePair& pair : pairs) {
    const Rigid3 there = ct_from_world * truth.trajectory[pair.truth].world_from_camera;
    const double error =
        (there.Translation() - cameras[pair.estimate].world_from_camera.Translation()).norm();
    const double sigma = told[pair.estimate].sigma;
    entry.mean += error / count;
    entry.worst = std::max(entry.worst, error);
    entry.far += error > kFar ? 1 : 0;
    entry.within += error <= 2 * sigma ? 1 / count : 0;
    variance += sigma * sigma / count;
  }
  entry.sigma = std::sqrt(variance);
}

void AddEvents(const fs::path& run, CtLiveEntry& entry) {
  std::vector<double> seconds;
  for (const std::string& line : Split(ReadFile(run / run_file::kEvents), '\n')) {
    if (Trim(line).empty()) continue;
    const Json event = Json::Parse(line, run_file::kEvents);
    const Json* kind = event.Find("event");
    if (kind == nullptr || kind->AsString().rfind("registration", 0) != 0) continue;
    ++entry.registrations;
    entry.jumps += kind->AsString() == "registration_jump" ? 1 : 0;
    seconds.push_back(event.At("seconds").AsDouble());
  }
  std::sort(seconds.begin(), seconds.end());
  if (!seconds.empty()) entry.seconds = seconds[seconds.size() / 2];
}

// The CT, as the run reads it; its place is written last.
struct ScanOnDisk {
  fs::path file;
  Rigid3 ct_from_world;
};
ScanOnDisk WriteScan(const fs::path& folder, const std::string& name, const CtKind& kind) {
  ScanOnDisk scan{folder / StrCat(name, "_", kind.name) / "ct.nii", {}};
  const fs::path place = scan.file.parent_path() / "ct_from_world.txt";
  if (!fs::exists(place)) {
    MakeDirectories(scan.file.parent_path());
    const SimulatedCt ct = ScanPatient(name, kind);
    SaveVolume(scan.file, ct.volume);
    SaveMatrix(place, ct.lps_from_anatomy.Matrix());
  }
  const Sim3 ct_from_world = LoadSimilarity(place);
  scan.ct_from_world = {ct_from_world.Rotation(), ct_from_world.Translation()};
  return scan;
}

CtLiveEntry MeasureCell(const CtCell& cell, const std::vector<NamedSequence>& sequences,
                        const StudyEntry& outcome, const fs::path& run, const Rigid3& ct_from_world) {
  CtLiveEntry entry;
  entry.failure = outcome.failure;
  if (entry.failure.empty()) entry = MeasureLive(run, sequences[cell.run].folder, ct_from_world);
  entry.run = sequences[cell.run].name;
  entry.patient = sequences[cell.patient].name;
  entry.kind = cell.kind.name;
  return entry;
}

std::string Row(const CtLiveEntry& entry) {
  if (!entry.failure.empty()) return StrCat("failed: ", entry.failure, " | | | | | | |");
  char text[192];
  if (entry.told == 0) {
    std::snprintf(text, sizeof(text), "never | | | | | %d, %d | %.1f |", entry.registrations, entry.jumps,
                  entry.seconds);
    return text;
  }
  std::snprintf(text, sizeof(text), "%d (%.0f %%) | %d | %.2f, %.2f | %d | %.2f, %.0f | %d, %d | %.1f |",
                entry.first, 100.0 * entry.first / entry.frames, entry.told, entry.mean, entry.worst,
                entry.far, entry.sigma, 100 * entry.within, entry.registrations, entry.jumps, entry.seconds);
  return text;
}

}  // namespace

CtLiveEntry MeasureLive(const fs::path& run, const fs::path& sequence, const Rigid3& ct_from_world) {
  CtLiveEntry entry;
  const Truth truth = LoadTruth(sequence);
  entry.frames = static_cast<int>(truth.trajectory.size());
  if (fs::exists(run / run_file::kFramesCt)) AddCameras(run, truth, ct_from_world, entry);
  AddEvents(run, entry);
  return entry;
}

std::vector<CtLiveEntry> StudyCtLive(const std::vector<NamedSequence>& sequences,
                                     const std::vector<CtKind>& kinds, int wrong_pairs,
                                     const StudyRunOptions& options) {
  const std::vector<CtCell> plan = PlanCtCells(sequences, kinds, wrong_pairs);
  std::vector<StudyCell> cells;
  std::vector<Rigid3> places;
  for (const CtCell& cell : plan) {
    EndIfInterrupted();
    const ScanOnDisk scan = WriteScan(options.study.out / "scans", sequences[cell.patient].name, cell.kind);
    const NamedSequence& video = sequences[cell.run];
    const std::string name = StrCat(video.name, "_in_", sequences[cell.patient].name, "_", cell.kind.name);
    // What is registered when all is over is the other study's.
    cells.push_back({"live",
                     name,
                     video.folder,
                     options.settings,
                     options.model,
                     {"--ct", fs::absolute(scan.file).string(), "--no-surface"}});
    places.push_back(scan.ct_from_world);
  }
  const Study study = RunStudy("Live", cells, options.study, options.run_arguments);
  std::vector<CtLiveEntry> entries;
  for (size_t i = 0; i < plan.size(); ++i)
    entries.push_back(MeasureCell(plan[i], sequences, study.entries[i],
                                  CellFolder(options.study.out, "live", cells[i].sequence) / "run",
                                  places[i]));
  return entries;
}

std::string FormatCtLive(const std::vector<CtLiveEntry>& entries) {
  std::string text = StrCat(
      "| video | CT, mm | first told at frame | frames told | camera: mean, largest, mm | beyond ", kFar,
      " mm | said to be ±, mm; within 2 of it, % | registrations, jumps | s each |\n"
      "|---|---|---|---|---|---|---|---|---|\n");
  std::string wrong;
  int right = 0, early = 0, exact = 0, pairs = 0, told = 0;
  for (const CtLiveEntry& entry : entries) {
    if (entry.Wrong()) {
      ++pairs;
      told += entry.told > 0 ? 1 : 0;
      if (entry.told > 0)
        wrong +=
            StrCat(wrong.empty() ? "" : ", ", entry.run, " in ", entry.patient, " (", entry.told, " frames)");
      continue;
    }
    constexpr double kEarly = 0.6;
    ++right;
    const bool in_time = entry.told > 0 && entry.first < kEarly * entry.frames;
    early += in_time ? 1 : 0;
    exact += in_time && entry.far == 0 ? 1 : 0;
    text += StrCat("| ", entry.run, " | ", entry.kind, " | ", Row(entry), "\n");
  }
  text += StrCat("\nFound before 60 % of the frames: ", early, " of ", right,
                 "; all cameras told from then on within ", kFar, " mm: ", exact, ".\n");
  if (pairs > 0)
    text += StrCat("Another patient or another organ, ", pairs, " pairs: told in it ", told,
                   wrong.empty() ? "" : ": ", wrong, ".\n");
  return text;
}

}  // namespace lumen
