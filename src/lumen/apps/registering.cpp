#include "lumen/apps/registering.h"

#include <Eigen/Geometry>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "lumen/apps/ct_model.h"
#include "lumen/apps/fuse_run.h"
#include "lumen/apps/live_registration.h"
#include "lumen/apps/measured_points.h"
#include "lumen/apps/virtual_view.h"
#include "lumen/base/error.h"
#include "lumen/base/file.h"
#include "lumen/base/log.h"
#include "lumen/base/parallel.h"
#include "lumen/geometry/alignment.h"
#include "lumen/image/colormap.h"
#include "lumen/io/mesh_file.h"
#include "lumen/io/png.h"
#include "lumen/io/trajectory_file.h"
#include "lumen/surface/mesh_tools.h"
#include "lumen/surface/registration_judge.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

// As 3D Slicer reads it from PLY and STL.
constexpr const char* kSpace = "SPACE=LPS";

// Other programs move vertices and leave attributes as they are.
void DropStaleViewpoints(TriangleMesh& mesh, const fs::path& path) {
  constexpr double kLeastFacing = 0.75;
  if (ComputeFacingShare(mesh) >= kLeastFacing) return;
  LogWarning(path.string(),
             ": faces away from where it was seen from (seen_from_x, …), which is left out; was it moved?");
  std::erase_if(mesh.attributes, [](const VertexAttribute& attribute) {
    return std::find(kSeenFrom.begin(), kSeenFrom.end(), attribute.name) != kSeenFrom.end();
  });
}

std::vector<std::vector<double>> LoadNumbers(const fs::path& path) {
  std::vector<std::vector<double>> rows;
  int line_number = 0;
  for (const std::string& line : Split(ReadFile(path), '\n')) {
    ++line_number;
    const std::string text = Trim(line.substr(0, line.find('#')));
    if (text.empty()) continue;
    std::vector<double> row;
    for (const std::string& word : SplitWords(text)) {
      const auto number = ParseDouble(word);
      if (!number || !std::isfinite(*number))
        throw InputError(path, StrCat("line ", line_number, ": \"", word, "\" is not a number"));
      row.push_back(*number);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

Json ToJson(const Eigen::Vector3d& v) { return Json::Array{v.x(), v.y(), v.z()}; }

Json MatrixToJson(const Eigen::Matrix4d& matrix) {
  Json rows = Json::MakeArray();
  for (int r = 0; r < 4; ++r)
    rows.Append(Json::Array{matrix(r, 0), matrix(r, 1), matrix(r, 2), matrix(r, 3)});
  return rows;
}

const char* StatusName(SurfaceRegistrationStatus status) {
  switch (status) {
    case SurfaceRegistrationStatus::kRegistered:
      return "registered";
    case SurfaceRegistrationStatus::kTooSmall:
      return "too small";
    case SurfaceRegistrationStatus::kNotRegistered:
      return "not registered";
  }
  return "";
}

Json ConstraintToJson(const Constraint& constraint) {
  Json entry = Json::MakeObject();
  entry["motion"] = constraint.Words();
  entry["translation"] = ToJson(constraint.translation);
  entry["rotation"] = ToJson(constraint.rotation);
  entry["growth"] = constraint.growth;
  entry["visibility"] = constraint.visibility;
  entry["uncertainty_mm"] = constraint.uncertainty;
  return entry;
}

}  // namespace

RegistrationInput LoadRegistrationInput(const fs::path& path, const FusionOptions& fusion) {
  RegistrationInput input;
  std::optional<RunFolder>& run = input.run;
  if (!fs::is_directory(path)) {
    input.surface = LoadMesh(path);
  } else {
    run = ReadRunFolder(path);
    input.frames = run->frames;
    const fs::path stored = path / run_file::kSurface;
    input.surface = fs::exists(stored) ? LoadMesh(stored) : FuseRun(*run, fusion).mesh;
  }
  RequireSurface(input.surface, path);
  if (run) input.measured = MeasureRunPoints(*run, input.surface);
  DropStaleViewpoints(input.surface, path);
  return input;
}

Sim3 ToSimilarity(const Eigen::Matrix4d& matrix, const fs::path& source) {
  const Eigen::Matrix3d linear = matrix.topLeftCorner<3, 3>();
  const double determinant = linear.determinant();
  if (!(determinant > 0)) throw InputError(source, "is no similarity: its determinant is not positive");
  const double scale = std::cbrt(determinant);
  const Eigen::Matrix3d rotation = linear / scale;
  if (!(rotation * rotation.transpose()).isIdentity(1e-2) ||
      (matrix.row(3) - Eigen::RowVector4d(0, 0, 0, 1)).norm() > 1e-6)
    throw InputError(source, "is no similarity: rotation, one scale, translation, last line 0 0 0 1");
  return {scale, Eigen::Quaterniond(rotation), matrix.topRightCorner<3, 1>()};
}

Sim3 RegisteredTransform(const Json& json, const fs::path& source) {
  Eigen::Matrix4d matrix;
  const Json::Array& rows = json.At("transform").AsArray();
  if (rows.size() != 4) throw InputError(source, "transform is not four rows");
  for (Eigen::Index r = 0; r < 4; ++r) {
    const Json::Array& row = rows[static_cast<size_t>(r)].AsArray();
    if (row.size() != 4) throw InputError(source, "transform has a row that is not four numbers");
    for (Eigen::Index c = 0; c < 4; ++c) matrix(r, c) = row[static_cast<size_t>(c)].AsDouble();
  }
  if (!matrix.allFinite()) throw InputError(source, "transform is not finite");
  return ToSimilarity(matrix, source);
}

Sim3 LoadSimilarity(const fs::path& path) {
  const auto rows = LoadNumbers(path);
  Eigen::Matrix4d matrix;
  bool shaped = rows.size() == 4;
  for (size_t r = 0; r < 4 && shaped; ++r) {
    shaped = rows[r].size() == 4;
    for (size_t c = 0; c < 4 && shaped; ++c)
      matrix(static_cast<Eigen::Index>(r), static_cast<Eigen::Index>(c)) = rows[r][c];
  }
  if (!shaped) throw InputError(path, "must hold a 4x4 matrix: four lines of four numbers");
  return ToSimilarity(matrix, path);
}

Sim3 LoadPairs(const fs::path& path) {
  std::vector<Eigen::Vector3d> surface, model;
  for (const std::vector<double>& row : LoadNumbers(path)) {
    if (row.size() != 6) throw InputError(path, "each line must hold six numbers: x y z X Y Z");
    surface.emplace_back(row[0], row[1], row[2]);
    model.emplace_back(row[3], row[4], row[5]);
  }
  const auto alignment = EstimateAlignment(surface, model);
  if (!alignment) throw InputError(path, "needs at least three pairs of points that are not on one line");
  return *alignment;
}

std::vector<Eigen::Vector3d> PathOf(const Trajectory& frames) {
  std::vector<Eigen::Vector3d> path;
  for (const TimedPose& frame : frames) path.push_back(frame.world_from_camera.Translation());
  return path;
}

RegistrationPlace FindPlace(const RegistrationInput& input, const RegistrationModel& model,
                            const SurfaceRegistration& registration) {
  RegistrationPlace place;
  if (registration.status != SurfaceRegistrationStatus::kRegistered) return place;
  place.cavity = model.CavityAt(PlaceSurface(input.surface, registration.placement).vertices);
  for (const ModelCavity& cavity : model.cavities)
    if (cavity.number == place.cavity) place = {cavity.number, cavity.words, cavity.notes};
  return place;
}

Json RegistrationToJson(const SurfaceRegistration& registration, const RegistrationPlace& place) {
  const bool registered = registration.status == SurfaceRegistrationStatus::kRegistered;
  Json json = Json::MakeObject();
  json["status"] = StatusName(registration.status);
  json["confident"] = registration.confident;
  json["matched_share"] = registration.matched_share;
  json["doubts"] = Json::MakeArray();
  for (const std::string& doubt : registration.doubts) json["doubts"].Append(doubt);
  if (!registered) return json;
  if (place.cavity > 0) {
    json["cavity"] = place.cavity;
    json["cavity_name"] = place.words;
    json["cavity_notes"] = Json::MakeArray();
    for (const std::string& note : place.notes) json["cavity_notes"].Append(note);
  }
  json["transform"] = MatrixToJson(registration.model_from_surface.Matrix());
  json["scale"] = registration.model_from_surface.Scale();
  json["residual_mean_mm"] = registration.residual_mean;
  json["residual_median_mm"] = registration.residual_median;
  json["residual_p95_mm"] = registration.residual_p95;
  json["similarity_residual_mean_mm"] = registration.similarity_residual_mean;
  json["all_residual_mean_mm"] = registration.all_residual_mean;
  json["drift"] = Json::MakeObject();
  json["drift"]["per_unit"] = ToJson(registration.placement.Drift());
  json["drift"]["centre"] = ToJson(registration.placement.Centre());
  json["drift"]["least_scale"] = registration.least_scale;
  json["drift"]["most_scale"] = registration.most_scale;
  json["runner_up"] = registration.runner_up;
  json["neighbour"] = registration.neighbour;
  json["misfit"] = registration.misfit ? Json(*registration.misfit) : Json();
  json["discord_mm"] = registration.discord ? Json(*registration.discord) : Json();
  json["constraints"] = Json::MakeArray();
  for (const Constraint& constraint : registration.constraints)
    json["constraints"].Append(ConstraintToJson(constraint));
  return json;
}

TriangleMesh ColorByResidual(TriangleMesh surface, const std::vector<double>& residuals, double most) {
  surface.colors.clear();
  VertexAttribute attribute{"residual_mm", {}};
  for (const double residual : residuals) {
    surface.colors.push_back(residual <= most ? MapColor(residual / most)
                                              : std::array<uint8_t, 3>{128, 128, 128});
    attribute.values.push_back(static_cast<float>(residual));
  }
  surface.attributes.push_back(std::move(attribute));
  return surface;
}

namespace {

// What the view shows of it later: in words, and where the CT lies.
Json DescribeForView(const RegistrationTarget& target, const SurfaceRegistration& registration,
                     const RegistrationPlace& place) {
  Json json = RegistrationToJson(registration, place);
  json["model"] = fs::absolute(target.choice.path).lexically_normal().string();
  if (!target.choice.volume.series.empty()) json["series"] = target.choice.volume.series;
  if (registration.status != SurfaceRegistrationStatus::kRegistered) return json;
  CtRegistration told;
  told.confident = registration.confident;
  told.place = place;
  told.result = registration;
  json["words"] = DescribeRegistration(&told, {}).words;
  return json;
}

// A run without pictures has nothing to be held beside the CT.
void SaveSideBySide(const fs::path& path, const RunFolder& run, const Sim3& ct_from_map,
                    const VirtualView& view) {
  try {
    const RgbImage sheet = DrawSideBySide(run, ct_from_map, view, AvailableCores());
    if (!sheet.Empty()) SavePng(path, sheet.View());
  } catch (const InputError& error) {
    LogWarning(error.what());
  }
}

}  // namespace

void SaveRegistration(const fs::path& folder, const RegistrationInput& input,
                      const RegistrationTarget& target, const SurfaceRegistration& registration,
                      const RegistrationPlace& place) {
  const RegistrationModel& model = target.model;
  MakeDirectories(folder);
  WriteFileAtomically(folder / "registration.json",
                      DescribeForView(target, registration, place).Dump(2) + "\n");
  if (registration.status != SurfaceRegistrationStatus::kRegistered) return;
  const Sim3& model_from_surface = registration.model_from_surface;
  SaveMatrix(folder / "transform.txt", model_from_surface.Matrix());
  const TriangleMesh registered = PlaceSurface(input.surface, registration.placement);
  SaveMesh(folder / "registered.ply", registered, kSpace);
  const TriangleTree tree(model.wall);
  const auto residuals = ComputeResiduals(registered, tree, AvailableCores());
  constexpr double kMostResidual = 2;  // mm
  SaveMesh(folder / "residual.ply", ColorByResidual(registered, residuals, kMostResidual), kSpace);
  SaveMesh(folder / "wall.ply", model.WallOf(place.cavity), kSpace);
  if (input.run)
    SaveSideBySide(folder / "side_by_side.png", *input.run, model_from_surface,
                   VirtualView(model.wall, tree));
  if (input.frames.empty()) return;
  Trajectory cameras = input.frames;
  for (TimedPose& camera : cameras)
    camera.world_from_camera = model_from_surface.TransformPose(camera.world_from_camera);
  SaveTrajectory(folder / "trajectory.tum", cameras,
                 "camera to CT: time x y z qx qy qz qw; millimetres, coordinate system LPS");
}

}  // namespace lumen
