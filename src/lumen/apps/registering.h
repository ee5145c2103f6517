// Registration of a surface to a CT: where the two come from, and what is written about the outcome.
#pragma once

#include <filesystem>

#include "lumen/apps/ct_model.h"
#include "lumen/base/json.h"
#include "lumen/io/run_folder.h"
#include "lumen/scene/trajectory.h"
#include "lumen/surface/fusion.h"
#include "lumen/surface/surface_registration.h"

namespace lumen {

// What is registered: a mesh, or a run with its cameras.
struct RegistrationInput {
  TriangleMesh surface;
  SurfacePoints measured;  // of a run: see measured_points.h
  Trajectory frames;       // world_from_camera; empty for a mesh
  std::optional<RunFolder> run = {};
};
// A mesh file, or a run's folder; a run without surface.ply is fused first.
RegistrationInput LoadRegistrationInput(const std::filesystem::path& path, const FusionOptions& fusion);

// Throws InputError, naming the source, if it is no similarity.
Sim3 ToSimilarity(const Eigen::Matrix4d& matrix, const std::filesystem::path& source);
// That of a registration.json; throws InputError.
Sim3 RegisteredTransform(const Json& json, const std::filesystem::path& source);
// A 4×4 matrix as text; throws InputError if it is no similarity.
Sim3 LoadSimilarity(const std::filesystem::path& path);
// Lines "x y z X Y Z": a point of the surface and its place in the model. Throws InputError for fewer than
// three.
Sim3 LoadPairs(const std::filesystem::path& path);

// Camera centres, in the surface's frame.
std::vector<Eigen::Vector3d> PathOf(const Trajectory& frames);

// Which of the model's cavities it lies in; 0: the model has none, or it is not registered.
struct RegistrationPlace {
  int cavity = 0;
  std::string words;
  std::vector<std::string> notes;  // what of the cavity may not be what it seems
};
RegistrationPlace FindPlace(const RegistrationInput& input, const RegistrationModel& model,
                            const SurfaceRegistration& registration);

Json RegistrationToJson(const SurfaceRegistration& registration, const RegistrationPlace& place = {});
// The model as it was read, and from where.
struct RegistrationTarget {
  const RegistrationModel& model;
  const ModelChoice& choice;
};
// registration.json, and, if it is registered, transform.txt and trajectory.tum (by the similarity),
// registered.ply and residual.ply (the drift of the surface's scale taken out), wall.ply (of the cavity it
// lies in) and, of a run, side_by_side.png (virtual_view.h).
void SaveRegistration(const std::filesystem::path& folder, const RegistrationInput& input,
                      const RegistrationTarget& target, const SurfaceRegistration& registration,
                      const RegistrationPlace& place);
// Yellow is far, dark is near; what is farther than `most` is grey.
TriangleMesh ColorByResidual(TriangleMesh surface, const std::vector<double>& residuals, double most);

}  // namespace lumen
