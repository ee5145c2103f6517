// The paper's last study with a known answer: each run's surface registered to the anatomy it was simulated
// in, from nothing and from a rough guess, and how far from the truth that puts the camera.
#pragma once

#include "lumen/apps/grading.h"
#include "lumen/apps/registering.h"

namespace lumen {

// Where the registration puts the run's cameras, against where they were.
struct CameraError {
  double mm = 0, degrees = 0;  // means over the placed frames
};

struct CtEntry {
  std::string sequence;
  std::string failure;  // why there is nothing; empty if there is
  SurfaceRegistration from_nothing, from_guess;
  CameraError nothing_error, guess_error;
  // The similarity that fits the cameras best, which no registration knows: what is left is SLAM's own error.
  CameraError aligned_error;
  double seconds = 0;  // of processor, both registrations
};

struct CtStudyOptions {
  FusionOptions fusion;
  SurfaceRegistrationOptions registration;
  double guess_degrees = 20, guess_mm = 15, guess_scale = 1.3;  // the guess is off by all of these
  uint64_t seed = 1;
};

// A run, its cameras beside their truth, and the similarity that fits these best.
struct CameraPair {
  Rigid3 map_from_camera, world_from_camera;
};
struct PlacedRun {
  RegistrationInput input;
  std::vector<CameraPair> cameras;
  Sim3 world_from_map;
};
// Throws InputError if it has too few placed frames.
PlacedRun LoadPlacedRun(const std::filesystem::path& run, const std::filesystem::path& sequence,
                        const FusionOptions& fusion);
CameraError MeasureCameras(const PlacedRun& run, const Sim3& world_from_map);
// A guess that is off by what the options say.
Sim3 MakeGuess(const Sim3& truth, const TriangleMesh& surface, const CtStudyOptions& options,
               const std::string& name);

// `sequence`: a simulated sequence's folder with model.ply. Throws InputError.
CtEntry RegisterRunToTruth(const std::filesystem::path& run, const std::filesystem::path& sequence,
                           const CtStudyOptions& options);

std::string FormatCtMarkdown(const std::vector<CtEntry>& entries);
Json CtStudyToJson(const std::vector<CtEntry>& entries);

}  // namespace lumen
