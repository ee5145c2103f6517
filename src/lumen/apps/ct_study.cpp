#include "lumen/apps/ct_study.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <numbers>

#include "lumen/base/error.h"
#include "lumen/base/parallel.h"
#include "lumen/base/random.h"
#include "lumen/base/text.h"
#include "lumen/eval/association.h"
#include "lumen/geometry/alignment.h"
#include "lumen/surface/mesh_tools.h"

namespace lumen {

namespace fs = std::filesystem;

using Eigen::Vector3d;

namespace {

constexpr double kSuccess = 2;  // mm at the camera

std::vector<CameraPair> PairCameras(const Trajectory& frames, const Truth& truth) {
  std::vector<CameraPair> pairs;
  for (const PosePair& pair : AssociateByTime(frames, truth.trajectory))
    pairs.push_back(
        {frames[pair.estimate].world_from_camera, truth.trajectory[pair.truth].world_from_camera});
  return pairs;
}

// Positions of a straight path leave the turn about it free: points before the cameras settle it.
std::optional<Sim3> AlignCameras(const std::vector<CameraPair>& pairs) {
  std::vector<Vector3d> from, to;
  for (const CameraPair& pair : pairs) {
    from.push_back(pair.map_from_camera.Translation());
    to.push_back(pair.world_from_camera.Translation());
  }
  auto alignment = EstimateAlignment(from, to);
  if (!alignment) return std::nullopt;
  constexpr double kAhead = 20;  // mm
  from.clear();
  to.clear();
  for (const CameraPair& pair : pairs) {
    for (const Vector3d& x :
         {Vector3d(0, 0, 0), Vector3d(0.3, 0, 1), Vector3d(-0.3, 0.3, 1), Vector3d(0, -0.3, 1)}) {
      from.push_back(pair.map_from_camera * (x * kAhead / alignment->Scale()));
      to.push_back(pair.world_from_camera * (x * kAhead));
    }
  }
  return EstimateAlignment(from, to);
}

Vector3d RandomUnit(Random& random) {
  const double x = random.Normal(), y = random.Normal(), z = random.Normal();
  return Vector3d(x, y, z).normalized();
}

bool Succeeded(const SurfaceRegistration& registration, const CameraError& error) {
  return registration.status == SurfaceRegistrationStatus::kRegistered && error.mm <= kSuccess;
}

std::string Cells(const SurfaceRegistration& registration, const CameraError& error) {
  if (registration.status != SurfaceRegistrationStatus::kRegistered) return " not registered | | | no |";
  char text[128];
  std::snprintf(text, sizeof(text), " %.2f / %.2f / %.2f | %.0f | %.2f, %.1f | %s |",
                registration.residual_mean, registration.residual_median, registration.residual_p95,
                100 * registration.matched_share, error.mm, error.degrees,
                registration.confident ? "yes" : "no");
  return text;
}

double Median(std::vector<double> values) {
  if (values.empty()) return std::nan("");
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Json ToJson(const SurfaceRegistration& registration, const CameraError& error) {
  Json json = RegistrationToJson(registration);
  json["camera_error_mm"] = error.mm;
  json["camera_error_deg"] = error.degrees;
  return json;
}

}  // namespace

CameraError MeasureCameras(const PlacedRun& run, const Sim3& world_from_map) {
  CameraError error;
  const auto count = static_cast<double>(run.cameras.size());
  for (const CameraPair& pair : run.cameras) {
    const Rigid3 placed = world_from_map.TransformPose(pair.map_from_camera);
    error.mm += (placed.Translation() - pair.world_from_camera.Translation()).norm() / count;
    error.degrees +=
        RotationAngle(placed.Rotation(), pair.world_from_camera.Rotation()) * 180 / std::numbers::pi / count;
  }
  return error;
}

Sim3 MakeGuess(const Sim3& truth, const TriangleMesh& surface, const CtStudyOptions& options,
               const std::string& name) {
  Random random = Random(options.seed).Split(name);
  const Vector3d turn = RandomUnit(random) * options.guess_degrees * std::numbers::pi / 180;
  const Vector3d move = RandomUnit(random) * options.guess_mm;
  const double scale = random.Chance(0.5) ? options.guess_scale : 1 / options.guess_scale;
  const Sim3 to(1, Eigen::Quaterniond::Identity(), truth * ComputeCentre(SampleSurface(surface, 1000)));
  return to * Sim3(scale, ExpSO3(turn), move) * to.Inverse() * truth;
}

PlacedRun LoadPlacedRun(const fs::path& run, const fs::path& sequence, const FusionOptions& fusion) {
  PlacedRun placed;
  placed.input = LoadRegistrationInput(run, fusion);
  placed.cameras = PairCameras(placed.input.frames, LoadTruth(sequence));
  const auto alignment = AlignCameras(placed.cameras);
  if (!alignment) throw InputError(run, "has too few placed frames to compare with the truth");
  placed.world_from_map = *alignment;
  return placed;
}

CtEntry RegisterRunToTruth(const fs::path& run, const fs::path& sequence, const CtStudyOptions& options) {
  CtEntry entry;
  entry.sequence = sequence.filename().string();
  const PlacedRun placed = LoadPlacedRun(run, sequence, options.fusion);
  const TriangleMesh model = LoadRegistrationModel({.path = sequence / "model.ply"}).wall;
  entry.aligned_error = MeasureCameras(placed, placed.world_from_map);
  const std::clock_t start = std::clock();
  const int threads = AvailableCores();
  const TriangleMesh& surface = placed.input.surface;
  const RegistrationHints hints{PathOf(placed.input.frames), false, placed.input.measured};
  entry.from_nothing = RegisterSurface(surface, model, std::nullopt, options.registration, threads, hints);
  const Sim3 guess = MakeGuess(placed.world_from_map, surface, options, entry.sequence);
  entry.from_guess = RegisterSurface(surface, model, guess, options.registration, threads, hints);
  entry.seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  entry.nothing_error = MeasureCameras(placed, entry.from_nothing.model_from_surface);
  entry.guess_error = MeasureCameras(placed, entry.from_guess.model_from_surface);
  return entry;
}

std::string FormatCtMarkdown(const std::vector<CtEntry>& entries) {
  std::string text =
      "| sequence | from a guess: residual mean / median / 95 %, mm | matched, % | camera, mm and ° | "
      "confident |"
      " from nothing: residual | matched, % | camera | confident | cameras aligned to the truth |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n";
  std::vector<double> residuals, of_all;
  int guessed = 0, found = 0, unwarned = 0;
  for (const CtEntry& entry : entries) {
    if (!entry.failure.empty()) {
      text += StrCat("| ", entry.sequence, " | failed: ", entry.failure, " | | | | | | | | |\n");
      continue;
    }
    char aligned[48];
    std::snprintf(aligned, sizeof(aligned), " %.2f, %.1f |\n", entry.aligned_error.mm,
                  entry.aligned_error.degrees);
    text += StrCat("| ", entry.sequence, " |", Cells(entry.from_guess, entry.guess_error),
                   Cells(entry.from_nothing, entry.nothing_error), aligned);
    if (entry.from_guess.status == SurfaceRegistrationStatus::kRegistered) {
      residuals.push_back(entry.from_guess.residual_mean);
      of_all.push_back(entry.from_guess.all_residual_mean);
    }
    guessed += Succeeded(entry.from_guess, entry.guess_error) ? 1 : 0;
    found += Succeeded(entry.from_nothing, entry.nothing_error) ? 1 : 0;
    unwarned += !Succeeded(entry.from_nothing, entry.nothing_error) && entry.from_nothing.confident ? 1 : 0;
  }
  char line[384];
  std::snprintf(
      line, sizeof(line),
      "\nMean residual, median over sequences: %.2f mm; as the paper has it (all points, no drift taken out) "
      "%.2f mm. Camera within %.0f mm: from a guess %d, from nothing "
      "%d of %zu; wrong from nothing and yet confident: %d.\n",
      Median(residuals), Median(of_all), kSuccess, guessed, found, entries.size(), unwarned);
  return text + line;
}

Json CtStudyToJson(const std::vector<CtEntry>& entries) {
  Json json = Json::MakeArray();
  for (const CtEntry& entry : entries) {
    Json item = Json::MakeObject();
    item["sequence"] = entry.sequence;
    if (!entry.failure.empty()) {
      item["failure"] = entry.failure;
    } else {
      item["from_guess"] = ToJson(entry.from_guess, entry.guess_error);
      item["from_nothing"] = ToJson(entry.from_nothing, entry.nothing_error);
      item["aligned_error_mm"] = entry.aligned_error.mm;
      item["aligned_error_deg"] = entry.aligned_error.degrees;
      item["processor_seconds"] = entry.seconds;
    }
    json.Append(item);
  }
  return json;
}

}  // namespace lumen
