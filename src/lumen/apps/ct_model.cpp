#include "lumen/apps/ct_model.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <map>

#include "lumen/base/error.h"
#include "lumen/base/log.h"
#include "lumen/base/parallel.h"
#include "lumen/base/text.h"
#include "lumen/io/mesh_file.h"
#include "lumen/surface/isosurface.h"
#include "lumen/surface/mesh_tools.h"
#include "lumen/surface/triangle_tree.h"

namespace lumen {

namespace fs = std::filesystem;

namespace {

// Endoscopy happens in organs of centimetres.
void WarnOfUnits(const TriangleMesh& mesh, const fs::path& path) {
  Eigen::AlignedBox3f box;
  for (const Eigen::Vector3f& vertex : mesh.vertices) box.extend(vertex);
  const float size = box.diagonal().norm();
  if (size < 1)
    LogWarning(path.string(), ": ", size, " mm across: are its units metres?");
  else if (size < 15)
    LogWarning(path.string(), ": ", size, " mm across: are its units inches or centimetres?");
  else if (size > 3000)
    LogWarning(path.string(), ": ", size, " mm across: are its units micrometres?");
}

Eigen::AlignedBox3f ParseCrop(const std::string& text) {
  std::vector<float> numbers;
  for (const std::string& word : Split(text, ','))
    if (const auto number = ParseDouble(Trim(word)); number && std::isfinite(*number))
      numbers.push_back(static_cast<float>(*number));
  if (numbers.size() != 6 || std::count(text.begin(), text.end(), ',') != 5)
    throw InputError(StrCat("--crop ", text, ": must be six numbers L0,L1,P0,P1,S0,S1 in mm"));
  for (size_t i = 0; i < 6; i += 2)
    if (numbers[i] >= numbers[i + 1]) throw InputError(StrCat("--crop ", text, ": each range must grow"));
  return {Eigen::Vector3f(numbers[0], numbers[2], numbers[4]),
          Eigen::Vector3f(numbers[1], numbers[3], numbers[5])};
}

// Triangles with a corner inside.
TriangleMesh Crop(const TriangleMesh& mesh, const Eigen::AlignedBox3f& box) {
  TriangleMesh cut = mesh;
  std::erase_if(cut.triangles, [&](const auto& triangle) {
    return std::none_of(triangle.begin(), triangle.end(), [&](auto corner) {
      return box.contains(mesh.vertices[static_cast<size_t>(corner)]);
    });
  });
  MeshParts parts = FindParts(cut);
  return KeepParts(cut, parts, std::vector<char>(parts.area.size(), 1));
}

void CropAll(const ModelChoice& choice, TriangleMesh& mesh) {
  if (choice.crop.empty()) return;
  mesh = Crop(mesh, ParseCrop(choice.crop));
  if (mesh.triangles.empty())
    throw InputError(choice.path, StrCat("has no wall within --crop ", choice.crop));
}

TriangleMesh WholeSurface(const ModelChoice& choice, const Volume& volume) {
  const double threshold = std::isnan(choice.threshold)
                               ? FindTissueLevels(volume, choice.path.string()).Threshold()
                               : choice.threshold;
  TriangleMesh mesh = ExtractIsosurface(volume, threshold);
  if (choice.crop.empty()) mesh = KeepLargestPart(mesh);
  if (mesh.triangles.empty())
    throw InputError(choice.path, StrCat("has no air–tissue surface at ", threshold, " (its values are ",
                                         volume.Least(), " to ", volume.Most(), "): give --threshold"));
  return mesh;
}

void Append(const TriangleMesh& piece, TriangleMesh& mesh) {
  const auto first = static_cast<int32_t>(mesh.vertices.size());
  mesh.vertices.insert(mesh.vertices.end(), piece.vertices.begin(), piece.vertices.end());
  mesh.normals.insert(mesh.normals.end(), piece.normals.begin(), piece.normals.end());
  for (auto triangle : piece.triangles) {
    for (int32_t& corner : triangle) corner += first;
    mesh.triangles.push_back(triangle);
  }
}

std::string NumbersOf(const AirSpaces& all) {
  std::string text;
  for (const AirSpace& space : all.spaces)
    text += StrCat(text.empty() ? "" : "; ", space.number, ": ", AirSpaceInWords(space));
  return text;
}

std::vector<const AirSpace*> Choose(const ModelChoice& choice, const AirSpaces& all) {
  constexpr size_t kMost = 12;
  std::vector<const AirSpace*> chosen;
  for (const AirSpace& space : all.spaces)
    if (choice.cavity > 0 ? space.number == choice.cavity : IsPlausible(space) && chosen.size() < kMost)
      chosen.push_back(&space);
  if (!chosen.empty()) return chosen;
  if (choice.cavity > 0)
    throw InputError(choice.path, StrCat("has no cavity ", choice.cavity, " (", NumbersOf(all), ")"));
  throw InputError(
      choice.path,
      "holds no air space inside the body that a scope could be in (fluid or contrast in the organ? "
      "`lumen model` lists what there is, --cavity 0 takes all between air and tissue)");
}

AirSpaces FindSpaces(const ModelChoice& choice, const Volume& volume, int threads) {
  AirSpaceOptions options;
  options.threshold = choice.threshold;
  return FindAirSpaces(volume, choice.path.string(), options, threads);
}

}  // namespace

RegistrationModel JoinAirSpaces(const ModelChoice& choice, const AirSpaces& all) {
  RegistrationModel model;
  for (const AirSpace* space : Choose(choice, all)) {
    TriangleMesh wall = space->wall;
    if (!choice.crop.empty()) wall = Crop(wall, ParseCrop(choice.crop));
    if (wall.triangles.empty()) continue;
    model.cavities.push_back(
        {space->number, AirSpaceInWords(*space), model.wall.triangles.size(), space->notes});
    Append(wall, model.wall);
  }
  if (model.cavities.empty())
    throw InputError(choice.path, StrCat("has no cavity within --crop ", choice.crop));
  return model;
}

void AddModelChoice(Command& command, ModelChoice& choice, const std::string& prefix) {
  command.Add(prefix + "threshold", choice.threshold,
              "between air and tissue in a volume; otherwise by its values");
  command.Add(prefix + "series", choice.volume.series, "of a DICOM folder that holds several");
  command
      .Add(prefix + "cavity", choice.cavity,
           "which of a volume's air spaces, as `lumen model` counts them; 0: all between air and tissue; "
           "otherwise all that are plausible")
      .Within(-1, 1000);
  command.Add(prefix + "crop", choice.crop, "nothing of the model outside L0,L1,P0,P1,S0,S1 (mm, LPS)");
}

int RegistrationModel::CavityAt(const std::vector<Eigen::Vector3f>& places) const {
  if (cavities.empty() || places.empty()) return 0;
  const TriangleTree tree(wall);
  std::map<int, int> votes;
  const size_t step = places.size() / 500 + 1;
  for (size_t i = 0; i < places.size(); i += step) {
    const auto hit = tree.FindNearest(places[i].cast<double>(), std::numeric_limits<float>::max());
    if (!hit) continue;
    const auto after = std::upper_bound(
        cavities.begin(), cavities.end(), static_cast<size_t>(hit->triangle),
        [](size_t triangle, const ModelCavity& cavity) { return triangle < cavity.triangles_from; });
    ++votes[std::prev(after)->number];
  }
  const auto most = std::max_element(votes.begin(), votes.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == votes.end() ? 0 : most->first;
}

TriangleMesh RegistrationModel::WallOf(int cavity) const {
  for (size_t i = 0; i < cavities.size(); ++i) {
    if (cavities[i].number != cavity) continue;
    const size_t end = i + 1 < cavities.size() ? cavities[i + 1].triangles_from : wall.triangles.size();
    TriangleMesh piece = wall;
    piece.triangles.assign(wall.triangles.begin() + static_cast<std::ptrdiff_t>(cavities[i].triangles_from),
                           wall.triangles.begin() + static_cast<std::ptrdiff_t>(end));
    const MeshParts parts = FindParts(piece);
    return KeepParts(piece, parts, std::vector<char>(parts.area.size(), 1));
  }
  return wall;
}

AirSpaces LoadAirSpaces(const ModelChoice& choice, int threads) {
  return FindSpaces(choice, LoadVolume(choice.path, choice.volume), threads);
}

RegistrationModel LoadRegistrationModel(const ModelChoice& choice, std::shared_ptr<const Volume>* volume) {
  if (!choice.crop.empty()) ParseCrop(choice.crop);  // before minutes are spent
  RegistrationModel model;
  if (IsMeshFile(choice.path, false)) {
    if (choice.cavity > 0)
      throw InputError(choice.path, "is a mesh: --cavity chooses among a volume's air spaces");
    model.wall = LoadMesh(choice.path);
    RequireSurface(model.wall, choice.path);
    CropAll(choice, model.wall);
  } else {
    const auto values = std::make_shared<const Volume>(LoadVolume(choice.path, choice.volume));
    if (volume != nullptr) *volume = values;
    if (choice.cavity == 0) {
      model.wall = WholeSurface(choice, *values);
      CropAll(choice, model.wall);
    } else {
      model = JoinAirSpaces(choice, FindSpaces(choice, *values, AvailableCores()));
    }
  }
  RequireSurface(model.wall, choice.path);
  WarnOfUnits(model.wall, choice.path);
  return model;
}

void RequireSurface(const TriangleMesh& mesh, const fs::path& path) {
  if (mesh.triangles.empty()) throw InputError(path, "holds no triangles");
  constexpr size_t kLeast = 20;
  if (mesh.triangles.size() < kLeast)
    throw InputError(path, StrCat("holds ", mesh.triangles.size(), " triangles: too few to register"));
  if (!HasArea(mesh)) throw InputError(path, "holds triangles without an area: points or lines only");
}

const char* KindInWords(const AirSpace& space) {
  return space.kind == AirSpaceKind::kLungs    ? "lungs, "
         : space.kind == AirSpaceKind::kAirway ? "airways, "
                                               : "";
}

std::string AirSpaceInWords(const AirSpace& space) {
  const double ml =
      space.volume_ml < 10 ? std::round(10 * space.volume_ml) / 10 : std::round(space.volume_ml);
  return StrCat(KindInWords(space), ml, " ml, ", space.place);
}

bool IsPlausible(const AirSpace& space) {
  constexpr double kLeastMl = 1;
  return space.kind != AirSpaceKind::kLungs && space.volume_ml >= kLeastMl;
}

Json AirSpacesToJson(const AirSpaces& all) {
  const auto vector = [](const Eigen::Vector3d& v) { return Json::Array{v.x(), v.y(), v.z()}; };
  Json json = Json::MakeObject();
  json["air"] = all.levels.air;
  json["tissue"] = all.levels.tissue;
  json["threshold"] = all.threshold;
  json["hounsfield"] = all.levels.hounsfield;
  json["notes"] = Json::MakeArray();
  for (const std::string& note : all.notes) json["notes"].Append(note);
  json["cavities"] = Json::MakeArray();
  for (const AirSpace& space : all.spaces) {
    Json item = Json::MakeObject();
    item["number"] = space.number;
    item["name"] = AirSpaceInWords(space);
    item["kind"] = space.kind == AirSpaceKind::kLungs    ? "lungs"
                   : space.kind == AirSpaceKind::kAirway ? "airway"
                                                         : "cavity";
    item["volume_ml"] = space.volume_ml;
    item["area_cm2"] = space.area_cm2;
    item["widest_mm"] = space.widest_mm;
    item["open_cm2"] = space.open_cm2;
    item["cut_cm2"] = space.cut_cm2;
    item["from_lps"] = vector(space.box.min());
    item["to_lps"] = vector(space.box.max());
    item["notes"] = Json::MakeArray();
    for (const std::string& note : space.notes) item["notes"].Append(note);
    json["cavities"].Append(item);
  }
  json["small"] = all.small;
  json["small_ml"] = all.small_ml;
  return json;
}

}  // namespace lumen
